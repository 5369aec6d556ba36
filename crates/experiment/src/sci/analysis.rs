//! The analytic model beside a simulated point.

use crate::subject::Overlay;
use isthmus_machine::sci::Machine;
use isthmus_workload::packets::spec::PacketTraffic;

/// What the model says of `traffic` on `machine`.
pub(super) fn overlay(_machine: &Machine, _traffic: &PacketTraffic) -> Overlay {
    Overlay::default()
}
