/** The operations on accounts, as they are served: real store, real pipeline, in-memory transport. */
import type { Test } from 'tap'
import { keyEndpoints } from '../../../src/features/keys/endpoints.js'
import { memberEndpoints } from '../../../src/features/members/endpoints.js'
import { organizationEndpoints } from '../../../src/features/organizations/endpoints.js'
import { scimEndpoints } from '../../../src/features/scim/endpoints.js'
import { gateway } from '../../../src/http/dialects/gateway.js'
import { defineEndpoint } from '../../../src/http/endpoint.js'
import { jsonReply } from '../../../src/http/reply.js'
import { createAuthority } from '../../../src/identity/authenticate.js'
import { peopleOf } from '../../../src/identity/people.js'
import type { AccountStore } from '../../../src/store/account-store.js'
import type { Store } from '../../../src/store/store.js'
import type { HttpReply } from '../clients/http-client.js'
import { foundedStore } from '../data/founded-store.js'
import type { Lifetime } from '../data/temp-folder.js'
import { NO_USAGE } from '../models/no-usage.js'
import type { FakeClock } from '../timing/fake-clock.js'
import { pipelineOf } from './pipeline.js'

export interface AccountApi {
  readonly clock: FakeClock
  readonly accounts: AccountStore
  readonly store: Pick<Store, 'scim' | 'directory'>
  readonly apiKey: string
  readonly managementKey: string
  /** Everything that was logged, as text. */
  logged(): string
  /** Calls a path below `/api/v1` with a bearer; `''` means none. */
  call(key: string, method: string, path: string, body?: unknown): Promise<HttpReply>
  /** The same with the management key. */
  manage(method: string, path: string, body?: unknown): Promise<HttpReply>
}

/** An operation that is as open as inference is: any valid key may call it. */
const open = defineEndpoint({
  name: 'who_am_i',
  method: 'GET',
  path: '/api/v1/who-am-i',
  summary: 'Say who calls',
  tag: 'test',
  dialect: gateway,
  access: 'key',
  replies: { 200: { description: 'The caller' } },
  handle: ({ caller }) => jsonReply(200, caller),
})

/** Accounts as they are after the first start, and the operations on them. */
export async function accountApi(t: Lifetime): Promise<AccountApi> {
  const { clock, store, apiKey, managementKey } = await foundedStore(t)
  const { accounts } = store
  const people = peopleOf(store)
  const endpoints = [
    ...keyEndpoints(accounts, people, NO_USAGE, clock),
    ...organizationEndpoints(accounts, people, NO_USAGE, clock),
    ...memberEndpoints({ ...store, clock }),
    ...scimEndpoints({ ...store, clock }),
    open,
  ]
  const { inject, lines } = pipelineOf(endpoints, {
    authority: createAuthority(accounts, clock, () => new Map(), { people }),
    bodyLimit: 64 * 1024,
  })
  const call: AccountApi['call'] = (key, method, path, body) => {
    const headers: [string, string][] = key === '' ? [] : [['Authorization', `Bearer ${key}`]]
    const sent = typeof body === 'string' ? body : JSON.stringify(body)
    const url = `/api/v1${path}`
    return inject({ method, url, headers, ...(body !== undefined && { body: sent }) })
  }
  return {
    clock,
    accounts,
    store,
    apiKey,
    managementKey,
    logged: () => JSON.stringify(lines),
    call,
    manage: (method, path, body) => call(managementKey, method, path, body),
  }
}

/** The body of an error (contract/gateway 1.5). */
export const errorBody = (code: number, message: string): object => ({
  error: { code, message: code === 400 ? `Invalid request parameters: ${message}` : message },
})

/** Asserts that a call was refused with this status and these words, as JSON. */
export function refused(t: Test, reply: HttpReply, status: number, message: string, about?: string): void {
  const got = { status: reply.status, type: reply.headers['content-type'], json: reply.json }
  const wanted = { status, type: 'application/json', json: errorBody(status, message) }
  t.strictSame(got, wanted, about ?? message)
}
