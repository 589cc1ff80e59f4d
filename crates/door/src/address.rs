//! Which addresses are of the public network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is one of a public host: not of this machine, of a private network, of a link (as metadata services of clouds
/// have), or reserved by RFC 6890.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded_v4(address) {
            Some(inner) => is_public_v4(inner),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_reserved = match first {
        0 | 10 | 127 | 224.. => true,
        100 => second & 0xc0 == 64,
        169 => second == 254,
        172 => second & 0xf0 == 16,
        192 => second == 168 || second == 0 && matches!(third, 0 | 2) || second == 88 && third == 99,
        198 => second & 0xfe == 18 || second == 51 && third == 100,
        203 => second == 0 && third == 113,
        _ => false,
    };
    !is_reserved
}

/// Only global unicast addresses (`2000::/3`) are public; of these, documentation and benchmarks are not.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    first & 0xe000 == 0x2000 && !(first == 0x2001 && (second < 0x200 || second == 0xdb8)) && first != 0x3fff
}

/// The IPv4 address that stands in an IPv6 address: mapped, compatible, of NAT64, of 6to4.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            Some(of(high, low))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_of_the_public_network_are_public() {
        for public in
            ["1.1.1.1", "160.79.104.10", "172.32.0.1", "2606:4700::1111", "64:ff9b::101:101", "2002:101:101::1"]
        {
            assert!(is_public(public.parse().expect("an address")), "{public}");
        }
        for own in [
            "127.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.0.1",
            "192.0.2.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
            "3fff::1",
        ] {
            assert!(!is_public(own.parse().expect("an address")), "{own}");
        }
    }
}
