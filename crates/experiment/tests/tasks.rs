//! Tasks in threads of their own, and the panics that end them.

use isthmus_experiment::{Task, catch, cover_thread};
use rayon::prelude::*;
use std::time::Duration;

/// Maximum time for which a test waits for a task.
const LONG: Duration = Duration::from_secs(60);

/// Checks that the error of a task that panicked asks the user to report it.
#[test]
fn a_panic_ends_the_task_with_an_error_that_asks_for_a_report() {
    let task = Task::<u32>::default();
    assert!(task.start(|| panic!("seven is missing")));
    assert!(task.wait(LONG), "an endless wait");
    let message = task.take().expect("it has ended").unwrap_err().to_string();
    assert!(message.contains("seven is missing (") && message.contains("tasks.rs:"));
    assert!(message.contains("please report it"), "{message}");
    assert!(!message.contains('\n'));
}

/// Checks that a panic on a thread of a thread pool ends the task too.
#[test]
fn a_panic_on_a_pool_thread_ends_the_task_too() {
    let task = Task::<u32>::default();
    task.start(|| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(3)
            .start_handler(|_| cover_thread())
            .build();
        Ok(pool.expect("three threads").install(|| {
            let numbers = (0u32..100).into_par_iter();
            let sum: u32 = numbers
                .map(|n| if n == 77 { panic!("not 77") } else { n })
                .sum();
            sum
        }))
    });
    assert!(task.wait(LONG), "an endless wait");
    let message = task.take().expect("it has ended").unwrap_err().to_string();
    assert!(message.contains("not 77"));
}

/// Checks that a task runs only once, and that its result can be taken only once.
#[test]
fn a_task_runs_once_and_returns_its_result_once() {
    let task = Task::default();
    assert!(!task.is_running() && task.take().is_none());
    assert!(task.start(|| Ok(3)));
    assert!(!task.start(|| Ok(4)));
    assert!(task.wait(LONG));
    assert_eq!(task.take().map(Result::unwrap), Some(3));
    assert!(
        task.take().is_none() && !task.start(|| Ok(4)),
        "given away once"
    );
}

/// Checks the message and the source file of a panic that `catch` returns.
#[test]
fn a_caught_panic_has_its_message_and_source_location() {
    let line = line!() + 1;
    let caught = catch(|| panic!("the queue\n  of node {} is gone", 7)).unwrap_err();
    assert_eq!(caught.message, "the queue of node 7 is gone");
    assert_eq!(caught.place, format!("{}:{line}", file!()));
    assert_eq!(catch(|| 5), Ok(5));
}
