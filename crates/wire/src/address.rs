//! Parser of network addresses: host and port from text.

use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs};

/// Parse `127.0.0.1:5000`, `[::1]:5000` or `[fe80::1%eth0]:5000`. A link-local address of IPv6
/// names its interface by name or number. Host names are not looked up.
///
/// # Errors
/// The reason for which the interface cannot be used; `None` if the text is not such an address.
pub fn numeric(words: &str) -> Result<SocketAddr, Option<String>> {
    if let Ok(address) = words.parse() {
        return Ok(address);
    }
    let (address, interface, port) = scoped(words).ok_or(None)?;
    let asked = socket(AddressFamily::INET6, SocketType::DGRAM, None);
    let found = asked.and_then(|asked| name_to_index(asked, interface));
    match found {
        Ok(found) => Ok(SocketAddrV6::new(address, port, 0, found).into()),
        Err(error) => Err(Some(format!("interface `{interface}`: {error}"))),
    }
}

/// Split the text `[ADDRESS%INTERFACE]:PORT` into address, interface and port; `None` if it has
/// another form.
fn scoped(words: &str) -> Option<(Ipv6Addr, &str, u16)> {
    let (host, port) = words.strip_prefix('[')?.split_once("]:")?;
    let (address, interface) = host.split_once('%')?;
    Some((address.parse().ok()?, interface, port.parse().ok()?))
}

/// Parse an address in the form of [`numeric`], or look up the name of `HOST:PORT`. A lookup has no
/// time limit.
///
/// # Errors
/// The name has no address.
pub fn look_up(words: &str) -> io::Result<Vec<SocketAddr>> {
    match numeric(words) {
        Ok(address) => Ok(vec![address]),
        Err(Some(why)) => Err(io::Error::other(why)),
        Err(None) => Ok(words.to_socket_addrs()?.collect()),
    }
}

/// Check that the `Host` of an HTTP request is this machine: an address, `localhost` or the
/// machine's own name. Otherwise another site could point its own name at this address, and a
/// browser would treat its page as same-origin.
///
/// # Errors
/// The message for the client, if the host is another one.
pub fn check_host(host: &str) -> Result<(), String> {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => host.split(':').next().unwrap_or(""),
    };
    let own = rustix::system::uname();
    let own = own.nodename().to_bytes();
    let is_own = ["localhost".as_bytes(), own]
        .iter()
        .any(|own| own.eq_ignore_ascii_case(name.as_bytes()));
    match is_own || name.parse::<IpAddr>().is_ok() {
        true => Ok(()),
        false => Err(format!(
            "host {host}: give an address, localhost or this machine's own name"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that an IPv6 address may contain its interface by name or by number.
    #[test]
    fn an_interface_has_a_name_or_a_number() {
        let by_name = numeric("[fe80::1%lo]:5000").unwrap();
        assert_eq!(numeric("[fe80::1%1]:5000"), Ok(by_name));
        assert_eq!(by_name.to_string(), "[fe80::1%1]:5000");
        for wrong in [
            "[fe80::1%lo]:70000",
            "[127.0.0.1%lo]:5000",
            "fe80::1%lo:5000",
            "localhost:5000",
        ] {
            assert_eq!(numeric(wrong), Err(None), "{wrong}");
        }
        let why = numeric("[fe80::1%none]:5000").unwrap_err().unwrap();
        assert!(why.starts_with("interface `none`: "), "{why}");
    }
}
