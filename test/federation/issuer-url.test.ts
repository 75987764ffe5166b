import { test } from 'tap'
import { discoveryUrl, issuerUrlDefect, jwksUrlDefect } from '../../src/federation/issuer-url.js'

const GOOD = [
  'https://token.actions.githubusercontent.com',
  'https://accounts.google.com',
  'https://gitlab.example/',
  'https://oidc.eks.eu-central-1.amazonaws.com/id/0123456789ABCDEF',
  'https://login.example:8443/tenant/v2.0',
  'https://issuer.example/a@b',
  'https://xn--bcher-kva.example',
  'https://3com.example:1',
  'https://a--b.x-1.example:65535',
  `https://${'a'.repeat(63)}.example`,
  `https://${'a.'.repeat(126)}a`,
  'https://93.184.216.34/x',
  'https://[2606:2800:220:1:248:1893:25c8:1946]/x',
  `https://issuer.example/${'a'.repeat(2_000)}`,
]

const BAD: Readonly<Record<string, string>> = {
  '': 'ASCII',
  'issuer.example': 'absolute',
  '//issuer.example': 'absolute',
  'https:/issuer.example': 'absolute',
  'https://': 'absolute',
  'https:///path': 'absolute',
  'https://issuer.example:': 'a port from 1 to 65535',
  'https://issuer.example:port': 'a port from 1 to 65535',
  'https://issuer.example:65536': 'a port from 1 to 65535',
  'https:\\\\issuer.example': 'absolute',
  'https://issuer.example\\@evil.example': 'no user',
  'https://issuer.example\\evil.example': 'absolute',
  'HTTPS://issuer.example': 'absolute',
  'ftp://issuer.example': 'absolute',
  'file:///etc/passwd': 'absolute',
  'javascript:alert(1)': 'absolute',
  'http://issuer.example': 'use https',
  'https://user@issuer.example': 'no user',
  'https://user:word@issuer.example': 'no user',
  'https://@issuer.example': 'no user',
  'https://trusted.example@evil.example/path': 'no user',
  'https://issuer.example?x=1': 'no query',
  'https://issuer.example/?': 'no query',
  'https://issuer.example#x': 'no fragment',
  'https://issuer.example/#': 'no fragment',
  'https://issuer.example/a b': 'ASCII',
  ' https://issuer.example': 'ASCII',
  'https://issuer.example\n': 'ASCII',
  'https://issuer.example/\t': 'ASCII',
  'https://bücher.example': 'ASCII',
  'https://localhost': 'of this machine',
  'https://LOCALHOST/x': 'of this machine',
  'https://127.0.0.1': 'of this machine',
  'https://127.255.255.254:8443': 'of this machine',
  'https://2130706433': 'four decimal parts',
  'https://0x7f.1': 'four decimal parts',
  'https://0177.0.0.1': 'four decimal parts',
  'https://[::1]': 'of this machine',
  'https://[0:0:0:0:0:0:0:1]/x': 'of this machine',
  'https://0.0.0.0': 'private or special',
  'https://10.1.2.3': 'private or special',
  'https://192.168.0.1/x': 'private or special',
  'https://169.254.169.254': 'private or special',
  'https://[::]': 'private or special',
  'https://[::ffff:127.0.0.1]': 'private or special',
  'https://[::ffff:8.8.8.8]': 'private or special',
  'https://[fd00:ec2::254]': 'private or special',
  'https://[fe80::1]': 'private or special',
  'https://[64:ff9b::7f00:1]': 'private or special',
  'https://issuer.example:0': 'a port from 1 to 65535',
  'https://issuer.example:0443': 'a port from 1 to 65535',
  'https://issuer.example:99999999999': 'a port from 1 to 65535',
  'https://issuer.example:4:4': 'a port from 1 to 65535',
  'https://1.2.3': 'four decimal parts',
  'https://1.2': 'four decimal parts',
  'https://16909060': 'four decimal parts',
  'https://1.2.3.4.5': 'four decimal parts',
  'https://1.2.3.256': 'four decimal parts',
  'https://01.2.3.4': 'four decimal parts',
  'https://0x1.0x2.0x3.0x4': 'four decimal parts',
  'https://8.8.8.0x8': 'four decimal parts',
  'https://issuer.0x': 'four decimal parts',
  'https://issuer.1': 'four decimal parts',
  'https://8.8.8.8.': 'labels of letters',
  'https://issuer.example.': 'labels of letters',
  'https://issuer..example': 'labels of letters',
  'https://.issuer.example': 'labels of letters',
  'https://.': 'labels of letters',
  'https://-issuer.example': 'labels of letters',
  'https://issuer-.example': 'labels of letters',
  'https://is_suer.example': 'labels of letters',
  'https://xn--a.example': 'absolute',
  'https://*.example': 'labels of letters',
  'https://{tenant}.example': 'labels of letters',
  'https://%65xample.example': 'labels of letters',
  'https://issuer,example': 'labels of letters',
  'https://issuer!example': 'labels of letters',
  'https://[2606:2800:220:1:248:1893:25c8]': 'IPv6 address',
  'https://[issuer.example]': 'IPv6 address',
  'https://[::1%25lo]': 'IPv6 address',
  'https://[]': 'IPv6 address',
  'https://[::1': 'a port from 1 to 65535',
  [`https://${'a'.repeat(64)}.example`]: 'labels of letters',
  [`https://${'a.'.repeat(126)}ab`]: 'labels of letters',
  [`https://issuer.example/${'a'.repeat(2_050)}`]: 'at most 2048',
}

void test('ordinary issuers can be saved', async (t) => {
  for (const url of GOOD) t.equal(issuerUrlDefect(url, false), null, url)
})

for (const [url, why] of Object.entries(BAD)) {
  void test(`${JSON.stringify(url.slice(0, 60))} cannot be saved: ${why}`, async (t) => {
    t.match(issuerUrlDefect(url, false), why)
    const asKeys = jwksUrlDefect(url, false)
    if (why === 'no query') t.equal(asKeys, null)
    else t.match(asKeys, why)
  })
}

void test('with the setting, hosts of this machine may be saved, also without TLS, and nothing else', async (t) => {
  for (const host of ['127.0.0.1:8080', '127.1.2.3', '[::1]:9000', 'localhost:9000']) {
    for (const scheme of ['http', 'https'])
      t.equal(issuerUrlDefect(`${scheme}://${host}/x`, true), null, host)
  }
  for (const host of [
    'issuer.example',
    '10.0.0.1',
    '[::ffff:127.0.0.1]',
    '0.0.0.0',
    '[::]',
    '169.254.169.254',
  ]) {
    t.match(issuerUrlDefect(`http://${host}/x`, true), 'use https', host)
  }
  t.match(issuerUrlDefect('https://10.0.0.1', true), 'private or special')
  t.match(issuerUrlDefect('http://user@127.0.0.1', true), 'no user')
  t.match(issuerUrlDefect('http://localhost.example', true), 'use https')
})

void test('the discovery document lies behind the issuer, less one slash', async (t) => {
  const wellKnown = '.well-known/openid-configuration'
  t.equal(discoveryUrl('https://a.example'), `https://a.example/${wellKnown}`)
  t.equal(discoveryUrl('https://a.example/'), `https://a.example/${wellKnown}`)
  t.equal(discoveryUrl('https://a.example/b/'), `https://a.example/b/${wellKnown}`)
  t.equal(discoveryUrl('https://a.example/b//'), `https://a.example/b//${wellKnown}`)
})
