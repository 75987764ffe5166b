import { type Test, test } from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { Fault } from '../../src/base/fault.js'
import { IssuerKeyCache, type IssuerKeySource } from '../../src/federation/issuer-key-cache.js'
import { addressGuard } from '../../src/upstream/address-guard.js'
import { createUpstreamClient } from '../../src/upstream/client.js'
import { type FetchJson, jsonFetcher } from '../../src/upstream/fetch-json.js'
import { issuerKey } from '../support/data/subject-tokens.js'
import { type IssuerDocument, type IssuerFault, IssuerServer } from '../support/providers/issuer-server.js'
import { eventually } from '../support/timing/eventually.js'

const KEY = issuerKey('ES256', 'a')

interface Bench {
  readonly issuer: IssuerServer
  readonly source: IssuerKeySource
  readonly fetch: FetchJson
  readonly sockets: () => number
  find(kid?: string): Promise<string>
}

/** `hanging`: a part of the address of what is waited for in vain, so that a short time is enough. */
async function bench(t: Test, hanging: string | null = null): Promise<Bench> {
  const upstream = createUpstreamClient({ guard: addressGuard(true) })
  t.after(() => upstream.close())
  const issuer = await IssuerServer.start(t, '/tenant')
  issuer.keys = [KEY.jwk]
  const fetch: FetchJson = (url, timeoutMs) =>
    jsonFetcher(
      upstream,
      64,
      systemClock,
    )(url, hanging !== null && url.includes(hanging) ? Math.min(timeoutMs, 300) : timeoutMs)
  const keys = new IssuerKeyCache({ fetch, clock: systemClock, allowLoopback: true })
  const source = { id: 'i', organizationId: 'o', issuerUrl: issuer.url, jwksUrl: null }
  const find = async (kid = 'a'): Promise<string> => {
    try {
      const found = await keys.find(source, 'ES256', kid)
      return typeof found === 'string' ? found : `key ${found.kid}`
    } catch (error) {
      return error instanceof Fault ? `${error.kind}: ${error.detail}` : String(error)
    }
  }
  return { issuer, source, fetch, sockets: () => upstream.sockets(), find }
}

void test('keys come from a real issuer with one fetch of each document, however many ask', async (t) => {
  const { issuer, find } = await bench(t)
  const found = await Promise.all(Array.from({ length: 500 }, () => find()))
  t.strictSame(new Set(found), new Set(['key a']))
  t.match(issuer.fetches, { discovery: 1, jwks: 1, other: 0 })
})

void test('a fetch carries no credential and asks for no compression', async (t) => {
  const { issuer, find } = await bench(t)
  await find()
  t.match(issuer.lastHeaders, {
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'sluice',
  })
  t.notOk('authorization' in issuer.lastHeaders || 'cookie' in issuer.lastHeaders)
})

const FAULTS: Readonly<Record<IssuerFault, RegExp>> = {
  silence: /no answer in time/,
  reset: /reset/,
  'status 500': /status 500/,
  'status 404': /status 404/,
  redirect: /status 302/,
  'no json': /no JSON object/,
  'no object': /no JSON object/,
  'repeated member': /named once/,
  'too large': /larger than 1 MiB/,
  'too large, chunked': /larger than 1 MiB/,
  'too many values': /more than 10000 values/,
  compressed: /compressed/,
  drip: /no answer in time/,
}

for (const document of ['discovery', 'jwks'] as const satisfies readonly IssuerDocument[]) {
  for (const [fault, reason] of Object.entries(FAULTS)) {
    void test(`${document} with ${fault}: no keys, and no socket is left`, async (t) => {
      const hanging = document === 'jwks' ? '/keys' : '/.well-known/'
      const isHanging = reason.source === 'no answer in time'
      const { issuer, find, sockets } = await bench(t, isHanging ? hanging : null)
      issuer.faults[document] = fault as IssuerFault
      t.match(await find(), /^unavailable: keys of the issuer/)
      t.match(await find(), reason)
      // A kept connection that is reset says nothing of the issuer: the document is asked for once more on a new one.
      const onKeptConnection = document === 'jwks' && fault === 'reset'
      t.equal(issuer.fetches[document], onKeptConnection ? 2 : 1)
      t.equal(issuer.fetches.other, 0, 'no redirect was followed')
      await eventually(() => sockets() === 0)
    })
  }
}

void test('an issuer that nobody listens for is a failure', async (t) => {
  const { issuer, find } = await bench(t)
  await issuer.stop()
  t.match(await find(), /discovery: refused/)
})

void test('documents that hang do not hold up another of the same origin', async (t) => {
  const { issuer, fetch, find } = await bench(t)
  const hanging = Array.from({ length: 40 }, () => fetch(issuer.silentUrl, 2_000))
  await eventually(() => issuer.fetches.silent === 40)
  t.equal(await find(), 'key a')
  await issuer.stop()
  t.ok((await Promise.all(hanging)).every(({ ok }) => !ok))
})
