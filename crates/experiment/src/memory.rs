//! Amount of memory that this process may use: that of the host, or less if a control group or a Slurm job
//! limits it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Memory in bytes that is assumed if the system does not report its memory.
const UNKNOWN: u64 = 8_000_000_000;

/// Return the default memory limit of a run in bytes: half of the memory that this process may use.
pub fn default_bound() -> u64 {
    available(Path::new("/"), |name| env::var(name).ok()).unwrap_or(UNKNOWN) / 2
}

/// Return the memory of the machine in bytes, or the limit of the control groups (version 1 or 2) of this
/// process or of its Slurm job if that is less. Return `None` if the system does not report a number. `root`
/// is the folder with `proc` and `sys`; `variable` looks up a variable of the environment.
fn available(root: &Path, variable: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let machine = fs::read_to_string(root.join("proc/meminfo"));
    let machine = machine.ok().and_then(|text| total(&text));
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = groups.lines().flat_map(|line| limits_of(root, line));
    let job = of_job(root, machine, variable);
    limits.chain(machine).chain(job).min()
}

/// Return the memory in bytes that the current Slurm job may use on this host, even if Slurm does not enforce
/// it. It is the requested memory, or else the job's share of the machine by processors, because other jobs
/// use the rest.
fn of_job(
    root: &Path,
    machine: Option<u64>,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<u64> {
    variable("SLURM_JOB_ID")?;
    // A requested memory of 0 means all memory of the host.
    let number = |name| variable(name)?.trim().parse().ok().filter(|&n: &u64| n > 0);
    let mib = |count: u64| count.checked_mul(1 << 20);
    if variable("SLURM_MEM_PER_NODE").is_some() {
        return number("SLURM_MEM_PER_NODE").and_then(mib);
    }
    let processors = number("SLURM_CPUS_ON_NODE")?;
    if let Some(each) = number("SLURM_MEM_PER_CPU") {
        return each.checked_mul(processors).and_then(mib);
    }
    let all = fs::read_to_string(root.join("proc/cpuinfo")).ok()?;
    let all = all
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    (machine? / u64::try_from(all).ok().filter(|&n| n > 0)?).checked_mul(processors)
}

/// Return the memory of the host in bytes: `MemTotal` in the text `meminfo` of `/proc/meminfo`.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kib.checked_mul(1024)
}

/// Return the memory limits, in bytes, of the control group in a line of `/proc/self/cgroup`, and of its
/// ancestors. The line is `0::/path` for version 2 and `7:memory:/path` for version 1.
fn limits_of(root: &Path, line: &str) -> Vec<u64> {
    let mut parts = line.splitn(3, ':');
    let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
    else {
        return Vec::new();
    };
    let (mount, file) = if controllers.is_empty() {
        ("sys/fs/cgroup", "memory.max")
    } else if controllers.split(',').any(|name| name == "memory") {
        ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
    } else {
        return Vec::new();
    };
    let mount = root.join(mount);
    // Take the path of the group without its root, to read the limits of the group and of all its parents. Inside a
    // container the path may exist only on the host, but the root of the mount always exists.
    let within: PathBuf = (Path::new(path).components())
        .filter(|part| matches!(part, std::path::Component::Normal(_)))
        .collect();
    within
        .ancestors()
        .filter_map(|group| fs::read_to_string(mount.join(group).join(file)).ok())
        // `max` means no limit; version 1 writes a number above any memory instead.
        .filter_map(|text| text.trim().parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Create a folder with these files, each a path and its content, for the test `name`. Return its path.
    fn system(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("isthmus-{name}-{}", std::process::id()));
        for (file, text) in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("writable");
            fs::write(path, text).expect("writable");
        }
        root
    }

    /// The file `/proc/meminfo` of a host with 16384000 kB of memory: its path and its content.
    const MEMINFO: (&str, &str) = (
        "proc/meminfo",
        "MemTotal:       16384000 kB\nMemFree: 1 kB\n",
    );

    /// Checks that without control groups, the limit is the memory of the host.
    #[test]
    fn without_control_groups_the_limit_is_the_memory_of_the_host() {
        let root = system("plain", &[MEMINFO]);
        assert_eq!(available(&root, |_| None), Some(16_384_000 * 1024));
        assert_eq!(available(&system("nothing", &[]), |_| None), None);
        fs::remove_dir_all(root).expect("it was made");
    }

    /// Checks that the lowest limit counts if control groups are nested.
    #[test]
    fn the_lowest_limit_of_nested_control_groups_counts() {
        let root = system(
            "second",
            &[
                MEMINFO,
                ("proc/self/cgroup", "0::/slurm/job_7/step_0\n"),
                ("sys/fs/cgroup/slurm/job_7/memory.max", "2000000000\n"),
                ("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n"),
            ],
        );
        assert_eq!(available(&root, |_| None), Some(2_000_000_000));
        fs::remove_dir_all(root).expect("it was made");
    }

    /// Checks that the memory limits of control groups, version 1, are read.
    #[test]
    fn limits_of_control_groups_version_1_are_read() {
        let root = system(
            "first",
            &[
                MEMINFO,
                (
                    "proc/self/cgroup",
                    "5:cpu,cpuacct:/x\n7:memory:/elsewhere\n",
                ),
                ("sys/fs/cgroup/cpu/memory.limit_in_bytes", "1\n"),
                // Only the root of the mount is visible inside a container.
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "3000000000\n"),
            ],
        );
        assert_eq!(available(&root, |_| None), Some(3_000_000_000));
        let unlimited = system(
            "unlimited",
            &[
                MEMINFO,
                ("proc/self/cgroup", "7:memory:/\n"),
                (
                    "sys/fs/cgroup/memory/memory.limit_in_bytes",
                    "9223372036854771712\n",
                ),
            ],
        );
        assert_eq!(available(&unlimited, |_| None), Some(16_384_000 * 1024));
        for folder in [root, unlimited] {
            fs::remove_dir_all(folder).expect("it was made");
        }
    }

    /// Checks that a Slurm job may use its requested memory, or else its share of the machine by processors.
    #[test]
    fn a_slurm_job_has_its_requested_memory_or_its_share_by_processors() {
        let four = "processor\t: 0\n\nprocessor\t: 1\nprocessor\t: 2\nprocessor\t: 3\n";
        let root = system("slurm", &[MEMINFO, ("proc/cpuinfo", four)]);
        let machine = 16_384_000 * 1024;
        let of = |variables: &[(&str, &str)]| {
            available(&root, |name| {
                let found = variables.iter().find(|(each, _)| *each == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let (job, one) = (("SLURM_JOB_ID", "7"), ("SLURM_CPUS_ON_NODE", "1"));
        let two = ("SLURM_CPUS_ON_NODE", "2");
        assert_eq!(
            of(&[job, two, ("SLURM_MEM_PER_NODE", "1000")]),
            Some(1000 << 20)
        );
        assert_eq!(
            of(&[job, two, ("SLURM_MEM_PER_CPU", "500")]),
            Some(1000 << 20)
        );
        assert_eq!(of(&[job, one]), Some(machine / 4));
        // A zero, more memory than the machine has, and an invalid number all mean the whole machine.
        for all in ["0", "99999999", "18446744073709551615", "much"] {
            assert_eq!(of(&[job, one, ("SLURM_MEM_PER_NODE", all)]), Some(machine));
        }
        // Outside a Slurm job, `SLURM_MEM_PER_NODE` has no effect.
        assert_eq!(of(&[one, ("SLURM_MEM_PER_NODE", "1000")]), Some(machine));
        fs::remove_dir_all(root).expect("it was made");
    }
}
