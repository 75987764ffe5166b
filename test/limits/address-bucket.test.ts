import { test } from 'tap'
import { addressBucket } from '../../src/limits/address-bucket.js'

test('IPv4 by address, IPv6 by its first 64 bits however it is written', async (t) => {
  for (const [address, bucket] of [
    ['192.0.2.1', '192.0.2.1'],
    ['', ''],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['1:2:3::5:6:7:8', '1:2:3:0::/64'],
    ['1::4:5:6:192.0.2.1', '1:0:0:4::/64'],
  ] as const) {
    t.equal(addressBucket(address), bucket, address)
  }
})
