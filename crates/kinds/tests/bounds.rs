//! What `check` says that a closed loop sends at most, beside what a run finds.

use isthmus_experiment::Experiment;

/// The bound of the job `io` and what is accepted of it, in MB/s.
pub fn bound_and_accepted(experiment: Experiment) -> (f64, f64) {
    let remarks = experiment.capacity()[0].remarks.clone();
    let most = remarks.iter().find_map(|remark| {
        let (_, rest) = remark.split_once("sends at most ")?;
        let (number, _) = rest.split_once(" MB/s")?;
        number.parse::<f64>().ok()
    });
    let most = most.unwrap_or_else(|| panic!("{remarks:?}"));
    let result = experiment.run().expect("a whole run");
    let mut measures = result.points[0].measures.iter();
    let accepted = measures.find(|measure| measure.name == "io.accepted");
    let accepted = accepted.and_then(|accepted| accepted.mean);
    (most, accepted.expect("a rate of the job"))
}
