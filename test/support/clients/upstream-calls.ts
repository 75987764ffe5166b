/** Calls of the upstream client as a test sees them: what was told, in order, and the end as a promise. */
import type { Test } from 'tap'
import { createUpstreamClient, type UpstreamOptions } from '../../../src/upstream/client.js'
import type {
  ConnectionPoolLimits,
  PhaseTimeouts,
  UpstreamCall,
  UpstreamClient,
  UpstreamFailure,
  UpstreamReceiver,
  UpstreamRequest,
} from '../../../src/upstream/port.js'
import { mockUpstream, type Script } from '../providers/mock-upstream.js'
import { type Gate, gate } from '../timing/gate.js'

export const PATIENT: PhaseTimeouts = {
  connectMs: 20_000,
  headersMs: 20_000,
  firstTokenMs: 20_000,
  idleMs: 20_000,
  totalMs: 60_000,
}

export const LIMITS: ConnectionPoolLimits = { connections: 100, keepAliveMs: 10_000 }

/** A client that ends with the test. */
export function testClient(t: Test, options: UpstreamOptions = {}): UpstreamClient {
  const client = createUpstreamClient(options)
  t.teardown(() => client.close())
  return client
}

export function post(origin: string, extra: Partial<UpstreamRequest> = {}): UpstreamRequest {
  return {
    method: 'POST',
    origin,
    path: '/v1/chat/completions',
    headers: ['content-type', 'application/json'],
    body: '{}',
    timeouts: PATIENT,
    limits: LIMITS,
    deadlineAt: Infinity,
    caller: 'one',
    repeatable: true,
    ...extra,
  }
}

export class Recorded implements UpstreamReceiver {
  call!: UpstreamCall
  status = 0
  headers: Readonly<Record<string, string | string[] | undefined>> = {}
  readonly pieces: Buffer[] = []
  readonly headSeen: Gate<void> = gate()
  readonly firstPiece: Gate<void> = gate()
  readonly end: Gate<'ended' | UpstreamFailure> = gate()
  /** Names of all that was told. */
  readonly told: string[] = []

  onHead(status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void {
    this.told.push('head')
    this.status = status
    this.headers = headers
    this.headSeen.open()
  }

  onData(chunk: Uint8Array): void {
    this.told.push('data')
    this.pieces.push(Buffer.from(chunk))
    this.firstPiece.open()
  }

  onEnd(): void {
    this.told.push('ended')
    this.end.open('ended')
  }

  onFailure(failure: UpstreamFailure): void {
    this.told.push('failed')
    this.end.open(failure)
  }

  text(): string {
    return Buffer.concat(this.pieces).toString()
  }
}

export function called(client: UpstreamClient, request: UpstreamRequest, recorded = new Recorded()) {
  recorded.call = client.call(request, recorded)
  return recorded
}

/** A server that answers so, a client, and the way to call the one with the other. */
export async function upstreamBench(t: Test, script?: Script) {
  const mock = await mockUpstream(t, script)
  const client = testClient(t)
  const call = (extra: Partial<UpstreamRequest> = {}, recorded?: Recorded): Recorded =>
    called(client, post(mock.origin, extra), recorded)
  return { mock, client, call }
}
