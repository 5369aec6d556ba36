//! The I/O daemon as a service: sessions and metrics.

use crate::session;
use crate::shared::Shared;
use isthmus_daemon::{Service, Slot, Text};
use isthmus_wire::Transport;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The I/O daemon as a service that the crate `isthmus-daemon` runs.
#[derive(Debug)]
pub(crate) struct Iod(pub Arc<Shared>);

impl Service for Iod {
    /// Serve a client that has connected until it leaves.
    fn serve(&self, slot: Slot, transport: Transport) {
        session::run(&self.0, slot, transport);
    }

    /// Return the metrics of the daemon in the text format of Prometheus.
    fn metrics(&self) -> Option<String> {
        let shared = &self.0;
        let mut text = Text::new("isthmus_iod", shared.started);
        let (unauthenticated, dropped) = shared.gate.unauthenticated();
        text.gauge("sessions", "Sessions now.", shared.gate.sessions());
        let help = "Connections now whose clients have not attached.";
        text.gauge("unauthenticated", help, unauthenticated);
        let help = "Such connections that were closed to make room for others.";
        text.counter("unauthenticated_dropped_total", help, dropped);
        let names = shared
            .exports
            .iter()
            .map(|export| export.count())
            .sum::<usize>();
        let help = "Files and directories that clients refer to now.";
        text.gauge("names", help, names);
        let open = shared.open_files.load(Ordering::Relaxed);
        text.gauge("open_files", "Open files of clients now.", open);
        text.gauge(
            "locks",
            "Locks of byte ranges now.",
            shared.sessions.locks().count(),
        );
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &shared.counters;
        let help = "Requests of clients.";
        text.counter("requests_total", help, count(&counters.requests));
        let help = "Requests that failed.";
        text.counter("requests_failed_total", help, count(&counters.failed));
        let each = [
            ("read", count(&counters.read)),
            ("write", count(&counters.written)),
        ];
        let help = "Bytes that clients have read and written.";
        text.counters("bytes_total", help, "direction", &each);
        let help = "Clients that were not admitted.";
        text.counter("refused_total", help, count(&counters.refused));
        let help = "Requests that have failed because the store made no progress.";
        text.counter("store_timeouts_total", help, count(&counters.timed_out));
        if let Some(cache) = &shared.cache {
            let status = cache.status();
            text.gauge("cache_files", "Files in the cache.", status.files);
            text.gauge("cache_bytes", "Bytes in the cache.", status.bytes);
            let help = "Bytes in the cache that the store has not synced.";
            text.gauge("unstored_bytes", help, status.unstored);
            let help = "Files with such bytes.";
            text.gauge("unstored_files", help, status.unstored_files);
            let help = "Files that could not be stored at the last attempt.";
            text.gauge("failed_files", help, status.failed_files);
            let help = "Age in seconds of the oldest byte that the store has not synced.";
            text.gauge("unstored_age_seconds", help, status.oldest.as_secs_f64());
            let help = "Bytes that the store has synced so far.";
            text.counter("stored_bytes_total", help, status.stored);
            let help = "Bytes that clients have read from the cache.";
            text.counter("cache_read_bytes_total", help, status.hits);
            let help = "Bytes that were read from the store into the cache.";
            text.counter("store_read_bytes_total", help, status.misses);
            if status.rate > 0 || status.unstored == 0 {
                let help = "Seconds until everything is stored, at the rate of the last 10 s.";
                let seconds = status.unstored as f64 / status.rate.max(1) as f64;
                text.gauge("empty_seconds", help, seconds);
            }
        }
        Some(text.finish())
    }

    /// Return whether the daemon accepts new clients.
    fn is_accepting(&self) -> bool {
        !self.0.sessions.is_ending()
    }
}
