use isthmus_analytic::hypercube_io::*;
fn main() {
    for (name, io, pe, bl) in [("WW-oth", Variation::WithWaits, Variation::WithWaits, Blocking::OtherInputs),("BC-oth", Variation::ByClass, Variation::ByClass, Blocking::OtherInputs), ("BCW-oth", Variation::ByClass, Variation::WithWaits, Blocking::OtherInputs)] {
        let r = Reading{io_variation:io, pe_variation:pe, blocking:bl, ..Reading::counted()};
        for d in 3..=7u32 { for b in [0,1,2,3] {
            let (low, io) = if d==7 {(7,16)} else {(3,1u32<<(d-2))};
            let mut c = HypercubeIo::paper(b);
            c.dimension=d; c.io_nodes=io; c.serving=Serving::perfect(d,low).unwrap(); c.lanes=Lanes::paper(d,b);
            let s=c.saturation(&r).unwrap().per_ms(20000.0);
            for ta in [156250u32,78125] {
            let x=c.solve(50.0/f64::from(ta),&r).unwrap();
            print!("{name} {d} {b} {ta} {s:.2}");
            for k in [MessageClass::PePe, MessageClass::Request, MessageClass::Forward, MessageClass::ReplyLocal, MessageClass::ReplyRemote] { print!(" {:.3}", x.latency(k).router*0.05); }
            println!(" {:.3}", x.read_generation()*0.05);
        } } }
    }
}
