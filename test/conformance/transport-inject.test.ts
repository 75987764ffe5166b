import { test } from 'tap'
import { injector } from '../support/servers/inject.js'
import type { CarriedRequest } from './transport-case.js'
import { conform, type Transport } from './transport-suite.js'

const memory: Transport = {
  bind: async (_t, routes, allowChunked) => {
    const inject = injector(routes, allowChunked)
    const injected = ({ method, url, headers = [], body, chunked }: CarriedRequest) => ({
      method,
      url,
      headers: chunked ? [...headers, ['Transfer-Encoding', 'chunked'] as const] : headers,
      ...(body === undefined ? {} : { body }),
    })
    return {
      send: async (request) => {
        const { status, headers, body, close } = await inject(injected(request))
        return { status, header: (name) => headers[name]?.toString(), body, close }
      },
      leave: async (request, when) => {
        const caller = new AbortController()
        const asked = inject({ ...injected(request), signal: caller.signal })
        // A body that is shorter than declared ends the call before its caller leaves.
        asked.catch(() => {})
        await when
        caller.abort()
        await asked.catch(() => {})
      },
    }
  },
  differences: {
    'a request without Host is refused': {
      lacks: 'all',
      reason: 'in memory nobody types the field, so it is added',
    },
  },
}

test('the transport in memory conforms', (t) => conform(t, memory))
