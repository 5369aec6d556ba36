//! The thread of a driver, and those who call it.

use isthmus_stream_net::{Driver, Service};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Many call while the thread is busy, so that one wake-up stands for all of them: each is answered,
/// though the driver has nothing else to do.
#[test]
fn all_who_call_at_once_are_answered() {
    const CALLERS: u32 = 100;
    let service = Service::start(Driver::new(Driver::config()).unwrap(), |_| ()).unwrap();
    let (go, wait) = channel::<()>();
    let busy = service.client();
    let busy = std::thread::spawn(move || busy.call(move |_| wait.recv().unwrap()));
    let (tell, told) = channel();
    for number in 0..CALLERS {
        let (client, tell) = (service.client(), tell.clone());
        std::thread::spawn(move || tell.send(client.call(move |_| number).unwrap()).unwrap());
    }
    // That they are in line is not seen from outside; those that are late make it easier.
    std::thread::sleep(Duration::from_millis(300));
    go.send(()).unwrap();
    busy.join().unwrap().unwrap();
    let answer = || told.recv_timeout(Duration::from_secs(20));
    let mut all: Vec<u32> = (0..CALLERS).map(|_| answer().unwrap()).collect();
    all.sort_unstable();
    assert!(all.iter().copied().eq(0..CALLERS));
    service.stop().unwrap();
}
