/** A gateway whose calls cost an exact amount, for the trials of accounting. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Connection } from '../../harness/http/connection.js'
import { API_KEY, MANAGEMENT_KEY } from '../../performance/gateway/calls.js'
import type { Staging } from '../staging.js'

/** Dollars of one call of the model below, whatever it says. */
export const CALL_PRICE = 0.01
export const CALL_NANOS = 10_000_000
const EXACT_MODEL = 'trial/exact'
export const SLOW_MODEL = 'trial/slow'

/** Settings of a server with models whose price is per call, so that what is set aside is what is spent. */
export function exactEnvironment(staging: Staging): Record<string, string> {
  const file = join(staging.freshFolder(), 'sluice.json')
  const endpoint = (simulation: object) => ({
    provider: 'sim',
    prices: { prompt: '0', completion: '0', request: String(CALL_PRICE) },
    simulation,
  })
  const config = {
    models: {
      [EXACT_MODEL]: { endpoints: [endpoint({ tokens: { constant: 4 } })] },
      [SLOW_MODEL]: {
        endpoints: [endpoint({ tokens: { constant: 4 }, first_token_ms: { uniform: [20, 120] } })],
      },
    },
  }
  writeFileSync(file, JSON.stringify(config))
  return { SLUICE_CONFIG: file, SLUICE_API_KEY: API_KEY, SLUICE_MANAGEMENT_KEY: MANAGEMENT_KEY }
}

/** The bytes of a call of the API, over a kept connection. */
export function apiBytes(key: string, method: string, path: string, body?: unknown): Buffer {
  const text = body === undefined ? '' : JSON.stringify(body)
  const lines = [
    `${method} /api/v1${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${key}`,
    ...(body === undefined
      ? []
      : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`]),
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${text}`)
}

export function chatCall(key: string, model = EXACT_MODEL): Buffer {
  return apiBytes(key, 'POST', '/chat/completions', {
    model,
    max_tokens: 4,
    messages: [{ role: 'user', content: 'one call' }],
  })
}

/** One request on a connection of its own. Faults: Error on any status but the expected one. */
async function requestJson<T>(
  port: number,
  key: string,
  method: string,
  path: string,
  body?: unknown,
  expected = 200,
): Promise<T> {
  const connection = await Connection.open(port)
  try {
    const answer = await connection.send(apiBytes(key, method, path, body))
    const text = answer.body.toString()
    if (answer.status !== expected)
      throw new Error(`${method} ${path} was answered ${answer.status} ${text.slice(0, 200)}`)
    return JSON.parse(text) as T
  } finally {
    connection.drop()
  }
}

interface MadeKey {
  readonly key: string
  readonly hash: string
}

export async function createKey(port: number, management: string, more: object = {}): Promise<MadeKey> {
  const body = { name: 'trial', ...more }
  const { data, key } = await requestJson<{ data: { hash: string }; key: string }>(
    port,
    management,
    'POST',
    '/keys',
    body,
    201,
  )
  return { key, hash: data.hash }
}

/** An organization with credits of its own, and a key of it. */
export async function createOrganization(
  port: number,
  credits: number | null,
): Promise<MadeKey & { readonly id: string; readonly management: string }> {
  const body = { name: 'trial', credits }
  const { data, key: management } = await requestJson<{ data: { id: string }; key: string }>(
    port,
    MANAGEMENT_KEY,
    'POST',
    '/organizations',
    body,
    201,
  )
  return { id: data.id, management, ...(await createKey(port, management)) }
}

interface CreditFigures {
  readonly total_credits: number
  readonly total_usage: number
}

export async function readCredits(port: number, management: string): Promise<CreditFigures> {
  return (await requestJson<{ data: CreditFigures }>(port, management, 'GET', '/credits')).data
}
