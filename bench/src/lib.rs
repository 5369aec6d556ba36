//! Measures one thing and prints it as JSON; `bench/run.py` calls it and keeps the results.

mod clock;
mod corridor;
mod dragonfly;
mod fattree;
mod fingerprint;
mod flow;
mod growth;
mod meter;
mod parts;
mod redistribute;
mod reference;
mod replications;
mod ring;
mod sci;
mod stream;
mod striping;
mod tree;
mod uniform;
mod windows;

use serde::Serialize;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::str::FromStr;

const USAGE: &str = "usage: isthmus-bench WHAT [name=value ...]
  replications  dimension=7 width=2 gap_us=156 messages=150000 replications=50
  uniform       dimension=7 length=32 offered=0.3 warm_up=10000 measured=20000 sources=0 runs=20
  growth        dimension=7 width=2 gap_us=156 messages=2000000 warm_up=20000
  reference     messages=2000
  sci           side=6 load=34 time_us=200 runs=20 symbols=0
  fattree       levels=3 time_us=100000 runs=3 uniform=0
  dragonfly     radix=4 offered=0.6 adaptive=0 ticks=100000 runs=3
  flow          outstanding=16 bytes=4096 each=10 latency=0 runs=3
  corridor      offered=0.6 adaptive=0 time_us=200 replications=2
  tree          offered=0.3 random=0 buffer=4 warm_up=5000 measured=60000 runs=20
  redistribute  megabytes=512 block=16 ranks=4 threads=2 element=8 runs=7
  plan          extent=1000000 ranks=10000 block=2 runs=20
  ring          message=1048576 capacity=1048576 messages=2000 seen=0
  stream        way=tcp message=1048576 packet=1048576 rank_sums=0 capacity=1048576 messages=2000
  striping      links=4 message=1048576 messages=500 ranks=NAMESPACE
  parts
  fingerprint";

/// The values given as `name=value`.
struct Values(BTreeMap<String, String>);

impl Values {
    fn take<T: FromStr>(&mut self, name: &str, default: T) -> Result<T, String> {
        match self.0.remove(name) {
            None => Ok(default),
            Some(text) => text
                .parse()
                .map_err(|_| format!("{name}={text} is no number")),
        }
    }

    fn end(self) -> Result<(), String> {
        match self.0.into_keys().next() {
            None => Ok(()),
            Some(name) => Err(format!("no value is called {name}")),
        }
    }
}

fn json(report: &impl Serialize) -> String {
    serde_json::to_string(report).expect("reports have plain fields")
}

fn measure(what: &str, mut values: Values) -> Result<String, String> {
    match what {
        "replications" => {
            let load = replications::Load {
                dimension: values.take("dimension", 7)?,
                width: values.take("width", 2)?,
                gap_us: values.take("gap_us", 156.0)?,
                messages: values.take("messages", 150_000)?,
                replications: values.take("replications", 50)?,
            };
            values.end()?;
            Ok(json(&replications::run(load)))
        }
        "uniform" => {
            let load = uniform::Load {
                dimension: values.take("dimension", 7)?,
                length: values.take("length", 32)?,
                offered: values.take("offered", 0.3)?,
                warm_up: values.take("warm_up", 10_000)?,
                measured: values.take("measured", 20_000)?,
                sources: values.take("sources", 0)?,
                runs: values.take("runs", 20)?,
            };
            values.end()?;
            Ok(json(&uniform::run(load)))
        }
        "growth" => {
            let load = growth::Load {
                dimension: values.take("dimension", 7)?,
                width: values.take("width", 2)?,
                gap_us: values.take("gap_us", 156.0)?,
                messages: values.take("messages", 2_000_000)?,
                warm_up: values.take("warm_up", 20_000)?,
            };
            values.end()?;
            Ok(json(&growth::run(load)))
        }
        "reference" => {
            let messages = values.take("messages", 2_000)?;
            values.end()?;
            Ok(json(&reference::run(messages)))
        }
        "sci" => {
            let load = sci::Load {
                side: values.take("side", 6)?,
                gb_per_s: values.take("load", 34.0)?,
                time_us: values.take("time_us", 200)?,
                runs: values.take("runs", 20)?,
                by_symbol: values.take("symbols", 0)? != 0,
            };
            values.end()?;
            Ok(json(&sci::run(load)))
        }
        "fattree" => {
            let load = fattree::Load {
                levels: values.take("levels", 3)?,
                time_us: values.take("time_us", 100_000)?,
                runs: values.take("runs", 3)?,
                uniform: values.take("uniform", 0.0)?,
            };
            values.end()?;
            Ok(json(&fattree::run(load)))
        }
        "redistribute" => {
            let case = redistribute::Case {
                megabytes: values.take("megabytes", 512)?,
                block: values.take("block", 16)?,
                ranks: values.take("ranks", 4)?,
                threads: values.take("threads", 2)?,
                element: values.take("element", 8)?,
                runs: values.take("runs", 7)?,
            };
            values.end()?;
            Ok(json(&redistribute::run(case)))
        }
        "plan" => {
            let case = redistribute::Huge {
                extent: values.take("extent", 1_000_000)?,
                ranks: values.take("ranks", 10_000)?,
                block: values.take("block", 2)?,
                runs: values.take("runs", 20)?,
            };
            values.end()?;
            Ok(json(&redistribute::plan(case)))
        }
        "ring" | "ring_reader" => {
            let load = ring::Load {
                message: values.take("message", 1 << 20)?,
                capacity: values.take("capacity", 1 << 20)?,
                messages: values.take("messages", 2_000)?,
                seen: values.take("seen", 0)? != 0,
            };
            values.end()?;
            let report = if what == "ring" {
                ring::write(load)
            } else {
                ring::read(load)
            };
            Ok(json(&report.map_err(|error| error.to_string())?))
        }
        "stream" | "stream_rank" | "stream_sink" => {
            let message = values.take("message", 1 << 20)?;
            let load = stream::Load {
                way: values.take("way", "tcp".to_owned())?,
                message,
                packet: values.take("packet", message)?,
                rank_sums: values.take("rank_sums", 0)? != 0,
                capacity: values.take("capacity", 1 << 20)?,
                messages: values.take("messages", 2_000)?,
            };
            values.end()?;
            let report = match what {
                "stream" => stream::run(&load),
                "stream_rank" => stream::rank(&load),
                _ => stream::sink(&load),
            };
            Ok(json(&report.map_err(|error| error.to_string())?))
        }
        "striping" | "striping_rank" => {
            let load = striping::Load {
                links: values.take("links", 4)?,
                message: values.take("message", 1 << 20)?,
                messages: values.take("messages", 500)?,
                ranks: values.take("ranks", String::new())?,
                port: values.take("port", 0)?,
            };
            values.end()?;
            if ![1, 2, 4].contains(&load.links) {
                return Err(format!("links={}: 1, 2 or 4 are striped over", load.links));
            }
            let report = match what {
                "striping" => striping::run(&load),
                _ => striping::rank(&load),
            };
            Ok(json(&report.map_err(|error| error.to_string())?))
        }
        "dragonfly" => {
            let load = dragonfly::Load {
                radix: values.take("radix", 4)?,
                offered: values.take("offered", 0.6)?,
                adaptive: values.take("adaptive", 0)? != 0,
                ticks: values.take("ticks", 100_000)?,
                runs: values.take("runs", 3)?,
            };
            values.end()?;
            Ok(json(&dragonfly::run(load)))
        }
        "flow" => {
            let load = flow::Load {
                outstanding: values.take("outstanding", 16)?,
                bytes: values.take("bytes", 4096)?,
                each: values.take("each", 10)?,
                latency: values.take("latency", 0)?,
                runs: values.take("runs", 3)?,
            };
            values.end()?;
            Ok(json(&flow::run(load)))
        }
        "corridor" => {
            let load = corridor::Load {
                offered: values.take("offered", 0.6)?,
                adaptive: values.take("adaptive", 0)? != 0,
                time_us: values.take("time_us", 200)?,
                replications: values.take("replications", 2)?,
            };
            values.end()?;
            Ok(json(&corridor::run(load)))
        }
        "tree" => {
            let load = tree::Load {
                offered: values.take("offered", 0.3)?,
                random: values.take("random", 0)? != 0,
                buffer: values.take("buffer", 4)?,
                warm_up: values.take("warm_up", 5_000)?,
                measured: values.take("measured", 60_000)?,
                runs: values.take("runs", 20)?,
            };
            values.end()?;
            Ok(json(&tree::run(load)))
        }
        "parts" => {
            values.end()?;
            Ok(json(&parts::run()))
        }
        "fingerprint" => {
            values.end()?;
            let rows: BTreeMap<String, String> = fingerprint::all()
                .into_iter()
                .map(|(name, value)| (name, format!("{value:016x}")))
                .collect();
            Ok(json(&rows))
        }
        _ => Err(format!("nothing to measure is called {what}")),
    }
}

/// Measure what the command line names.
#[must_use]
pub fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let what = words.next().unwrap_or_default();
    let values: Option<BTreeMap<String, String>> = words
        .map(|word| {
            let (name, value) = word.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        })
        .collect();
    let outcome = match values {
        Some(values) => measure(&what, Values(values)),
        None => Err("values are given as name=value".to_owned()),
    };
    match outcome {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}
