/** `GET /api/v1/fleet`: the machines that are one server, for its operator. */
import { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import { fleetEndpoints } from '../../../src/features/fleet/endpoints.js'
import { openApiDocument } from '../../../src/http/openapi.js'
import { createAuthority } from '../../../src/identity/authenticate.js'
import { failureTable } from '../../../src/store/fleet-failures.js'
import { embeddedFleetView, type FleetMachine, type FleetView } from '../../../src/store/fleet-view.js'
import { foundedStore } from '../../support/data/founded-store.js'
import type { Lifetime } from '../../support/data/temp-folder.js'
import { DocumentRules, type OpenApiDocument } from '../../support/schemas/openapi-validator.js'
import { refused } from '../../support/servers/account-api.js'
import { pipelineOf } from '../../support/servers/pipeline.js'

const FAILURES = failureTable({ fleetStalenessMs: 10_000, fleetWhenStoreIsAway: 'serve' })

const LIVE: FleetMachine = {
  name: 'ant',
  state: 'live',
  epoch: 3,
  release: '0.1.0',
  applied: 17,
  beatAgeMs: 412,
  leases: 2,
  leased: 1_500_000_000,
  frozen: 0,
  journalBytes: 0,
  clockDifferenceMs: -3,
}
const EXPIRED: FleetMachine = {
  ...LIVE,
  ...{ name: 'bee', state: 'expired', applied: 12, beatAgeMs: 61_000, frozen: 1_500_000_000 },
  ...{ journalBytes: 4096, clockDifferenceMs: 3_600_000 },
}

async function served(t: Lifetime, fleet: FleetView) {
  const { store, clock, apiKey, managementKey } = await foundedStore(t)
  const { inject } = pipelineOf(fleetEndpoints({ view: fleet, failures: FAILURES }), {
    authority: createAuthority(store.accounts, clock, () => new Map()),
  })
  const read = (key: string) => {
    const headers: [string, string][] = key === '' ? [] : [['Authorization', `Bearer ${key}`]]
    return inject({ method: 'GET', url: '/api/v1/fleet', headers })
  }
  return { read, store, apiKey, managementKey }
}

const document = (fleet: FleetView): OpenApiDocument =>
  openApiDocument(fleetEndpoints({ view: fleet, failures: FAILURES }), {
    info: { title: 't', version: '1', description: 'd' },
    tags: [],
  }) as unknown as OpenApiDocument

test('the operator sees every machine, what it holds and what is frozen', async (t) => {
  const fleet: FleetView = {
    read: async () => ({ store: 'postgresql', version: 17, machines: [LIVE, EXPIRED] }),
  }
  const { read, managementKey } = await served(t, fleet)
  const reply = await read(managementKey)
  t.equal(reply.status, 200)
  t.equal(reply.headers['cache-control'], 'no-store')
  t.strictSame(reply.json, {
    data: {
      store: 'postgresql',
      version: 17,
      machines: [
        {
          ...{ name: 'ant', state: 'live', epoch: 3, release: '0.1.0', version_applied: 17 },
          ...{ beat_age_s: 0.412, leases: 2, leased: 1.5, frozen: 0 },
          ...{ journal_backlog_bytes: 0, clock_difference_s: -0.003 },
        },
        {
          ...{ name: 'bee', state: 'expired', epoch: 3, release: '0.1.0', version_applied: 12 },
          ...{ beat_age_s: 61, leases: 2, leased: 1.5, frozen: 1.5 },
          ...{ journal_backlog_bytes: 4096, clock_difference_s: 3600 },
        },
      ],
      failures: FAILURES,
    },
  })
  t.strictSame(new DocumentRules(document(fleet)).replyFaults('read_fleet', reply), [])
})

test('with an embedded store there is one machine, and nothing is frozen', async (t) => {
  const { read, managementKey } = await served(t, embeddedFleetView('here', '0.1.0'))
  const { data } = (await read(managementKey)).json
  t.match(data, { store: 'embedded', version: 0, machines: [{ name: 'here', state: 'live', frozen: 0 }] })
  t.equal(data.machines.length, 1)
})

test('it is for the operator alone', async (t) => {
  const { read, apiKey, managementKey, store } = await served(t, embeddedFleetView('here', '0.1.0'))
  refused(t, await read(''), 401, 'Missing Authentication header')
  t.equal((await read(apiKey)).status, 403)
  const [operator] = store.accounts.keys().filter((key) => key.operator)
  await store.accounts.changeKey(operator!.hash, (key) => ({ ...key, operator: false }))
  refused(t, await read(managementKey), 403, 'Only the operator can perform this operation')
})

test('a store that cannot be asked is a 503 that says when to come again', async (t) => {
  const away: FleetView = {
    read: () => Promise.reject(new Fault('unavailable', { retryAfter: 2, detail: 'the store is away' })),
  }
  const { read, managementKey } = await served(t, away)
  const reply = await read(managementKey)
  t.equal(reply.status, 503)
  t.equal(reply.headers['retry-after'], '2')
})
