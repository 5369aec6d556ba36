//! Measures one thing and prints it as JSON; `bench/run.py` calls it and keeps the results.

/// Declare the values of a measurement: fields of a structure, with the default of each.
macro_rules! values {
    ($(#[$attribute:meta])* $name:ident {
        $($(#[$of:meta])* $field:ident: $kind:ty = $default:expr,)*
    }) => {
        $(#[$attribute])*
        pub struct $name {
            $($(#[$of])* pub $field: $kind,)*
        }

        impl crate::Take for $name {
            fn take(values: &mut crate::Values) -> Result<Self, String> {
                $(let $field: $kind = values.take(stringify!($field), $default)?;)*
                Ok(Self { $($field,)* })
            }
        }
    };
}

mod clock;
mod corridor;
mod delay;
mod dragonfly;
mod fattree;
mod fingerprint;
mod flow;
mod forwarding;
mod growth;
mod idle;
mod meter;
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
use stream::Outcome;

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
  ring          message=1048576 capacity=1048576 messages=2000
  stream        way=tcp message=1048576 packet=1048576 rank_sums=0 capacity=1048576 messages=2000
  striping      links=4 message=1048576 messages=500 ranks=NAMESPACE
  iod           server=ADDRESS export=FOLDER operation=read clients=4 bytes=65512 window=16 seconds=2
  iod_idle      server=ADDRESS pid=PID clients=1000
  delay         socket=PATH round_trip_ms=1
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

    /// Take all values of a measurement. No other may be left.
    fn all<T: Take>(mut self) -> Result<T, String> {
        let taken = T::take(&mut self)?;
        self.end()?;
        Ok(taken)
    }

    fn end(self) -> Result<(), String> {
        match self.0.into_keys().next() {
            None => Ok(()),
            Some(name) => Err(format!("no value is called {name}")),
        }
    }
}

/// The values of a measurement, each with a default.
trait Take: Sized {
    fn take(values: &mut Values) -> Result<Self, String>;
}

fn json(report: &impl Serialize) -> String {
    serde_json::to_string(report).expect("reports have plain fields")
}

fn measure(what: &str, mut values: Values) -> Outcome<String> {
    Ok(match what {
        "replications" => json(&replications::run(values.all()?)),
        "uniform" => json(&uniform::run(values.all()?)),
        "growth" => json(&growth::run(values.all()?)),
        "reference" => {
            let messages = values.take("messages", 2_000)?;
            values.end()?;
            json(&reference::run(messages))
        }
        "sci" => json(&sci::run(values.all()?)),
        "fattree" => json(&fattree::run(values.all()?)),
        "redistribute" => json(&redistribute::run(values.all()?)),
        "plan" => json(&redistribute::plan(values.all()?)),
        "ring" => json(&ring::write(values.all()?)?),
        "ring_reader" => json(&ring::read(values.all()?)?),
        "stream" => json(&stream::run(&values.all()?)?),
        "stream_rank" => json(&stream::rank(&values.all()?)?),
        "stream_sink" => json(&stream::sink(&values.all()?)?),
        "striping" => json(&striping::run(&values.all()?)?),
        "striping_rank" => json(&striping::rank(&values.all()?)?),
        "iod" => json(&forwarding::run(&values.all()?).map_err(|error| error.to_string())?),
        "iod_server" => {
            json(&forwarding::serve(&values.all()?).map_err(|error| error.to_string())?)
        }
        "iod_idle" => json(&idle::run(&values.all()?).map_err(|error| error.to_string())?),
        "delay" => json(&delay::relay(&values.all()?).map_err(|error| error.to_string())?),
        "dragonfly" => json(&dragonfly::run(values.all()?)),
        "flow" => json(&flow::run(values.all()?)),
        "corridor" => json(&corridor::run(values.all()?)),
        "tree" => json(&tree::run(values.all()?)),
        "fingerprint" => {
            values.end()?;
            let rows: BTreeMap<String, String> = fingerprint::all()
                .into_iter()
                .map(|(name, value)| (name, format!("{value:016x}")))
                .collect();
            json(&rows)
        }
        _ => return Err(format!("nothing to measure is called {what}").into()),
    })
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
        None => Err("values are given as name=value".into()),
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
