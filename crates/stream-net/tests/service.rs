//! The thread of a driver, and its callers.

use isthmus_stream_net::{Driver, Service};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Many callers call while the thread is busy, so that one wake-up stands for all of them. Each
/// gets an answer, although the driver has nothing else to do.
#[test]
fn all_simultaneous_callers_are_answered() {
    const CALLERS: u32 = 100;
    let service = Service::start(Driver::new(Driver::config()).unwrap(), |_| ()).unwrap();
    let (go, wait) = channel::<()>();
    let busy = service.client();
    let busy = std::thread::spawn(move || busy.call(move |_| wait.recv().unwrap()));
    let (send, answers) = channel();
    for number in 0..CALLERS {
        let (client, send) = (service.client(), send.clone());
        std::thread::spawn(move || send.send(client.call(move |_| number).unwrap()).unwrap());
    }
    // The queue is not visible from outside; late callers only make the test easier.
    std::thread::sleep(Duration::from_millis(300));
    go.send(()).unwrap();
    busy.join().unwrap().unwrap();
    let answer = || answers.recv_timeout(Duration::from_secs(20));
    let mut all: Vec<u32> = (0..CALLERS).map(|_| answer().unwrap()).collect();
    all.sort_unstable();
    assert!(all.iter().copied().eq(0..CALLERS));
    service.stop().unwrap();
}
