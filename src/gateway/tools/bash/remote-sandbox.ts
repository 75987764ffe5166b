/** Sandboxes behind HTTP: the calls of docs/guide/tools/bash.md, as their client. */
import { z } from 'zod'
import type { UpstreamClient, UpstreamRequest } from '../../../upstream/port.js'
import {
  type Container,
  type ContainerOwner,
  type Sandbox,
  type SandboxCommand,
  SandboxFailure,
  type SandboxRun,
} from './sandbox.js'

interface RemoteSandboxOptions {
  /** Where the calls begin, without a closing slash. */
  readonly url: string
  readonly credential: string | null
  readonly upstream: UpstreamClient
}

const ID = /^[\w-]{1,20}$/
const container = z.object({ id: z.string().regex(ID), expires_at: z.number() })
const size = z.int().min(0)

const runAnswer = z.object({
  stdout: z.string(),
  stderr: z.string(),
  exit_code: z.int().nullable(),
  ended: z.enum(['timeout', 'memory', 'quota', 'aborted', 'broken']).nullish(),
  changed: z.array(z.object({ path: z.string().min(1).max(4_096), size_bytes: size })).max(100_000),
  egress: z
    .array(
      z.object({ host: z.string(), sent_bytes: size, received_bytes: size, refused: z.string().nullish() }),
    )
    .max(1_000)
    .default([]),
  expires_at: z.number(),
})

const CODES = [
  'container_expired',
  'too_many_containers',
  'busy',
  'quota_exceeded',
  'not_found',
  'unavailable',
] as const
const failure = z.object({ error: z.object({ code: z.enum(CODES), message: z.string().max(1_000) }) })

const LIMITS = { connections: 64, keepAliveMs: 4_000 }
const CONNECT_MS = 5_000
const ANSWER_MS = 10_000
/** An answer beside what was asked for. */
const ANSWER_BYTES = 2 ** 20

export class RemoteSandbox implements Sandbox {
  readonly name = 'remote'
  readonly #options: RemoteSandboxOptions
  readonly #closing = new AbortController()

  constructor(options: RemoteSandboxOptions) {
    this.#options = options
  }

  async create(owner: ContainerOwner): Promise<Container> {
    return toContainer(await this.#ask({ owner, path: '/containers' }))
  }

  async run(
    owner: ContainerOwner,
    containerId: string,
    command: SandboxCommand,
    signal: AbortSignal,
  ): Promise<SandboxRun & { readonly container: Container }> {
    const body = {
      command: command.command,
      timeout_ms: Math.floor(command.timeoutMs),
      max_output_bytes: command.maxOutputBytes,
      allowed_domains: command.allowedDomains,
    }
    const bytes = await this.#ask({
      ...{ owner, path: `${pathOf(containerId)}/runs`, signal },
      ...{ body: JSON.stringify(body), waitMs: command.timeoutMs + ANSWER_MS },
      // Bytes that are no UTF-8, and escapes of JSON, make a text up to six times as long.
      mostBytes: command.maxOutputBytes * 12 + ANSWER_BYTES,
    })
    const answer = parse(runAnswer, bytes)
    const { stdout, stderr, exit_code: exitCode, ended, changed, egress, expires_at: expiresAt } = answer
    return {
      ...{ stdout: cut(stdout, command), stderr: cut(stderr, command), exitCode, ...(ended && { ended }) },
      changed: changed.map(({ path, size_bytes: sizeBytes }) => ({ path, sizeBytes })),
      egress: egress.map(({ host, sent_bytes: sentBytes, received_bytes: receivedBytes, refused }) => ({
        ...{ host, sentBytes, receivedBytes },
        ...(refused && { refused }),
      })),
      container: { id: containerId, expiresAtUnixMs: expiresAt * 1000 },
    }
  }

  async put(owner: ContainerOwner, containerId: string, path: string, bytes: Uint8Array): Promise<void> {
    const query = new URLSearchParams({ path })
    const type = 'application/octet-stream'
    await this.#ask({ owner, path: `${pathOf(containerId)}/files?${query}`, body: bytes, type })
  }

  async get(owner: ContainerOwner, containerId: string, path: string, maxBytes: number): Promise<Buffer> {
    const query = new URLSearchParams({ path })
    return this.#ask({
      owner,
      path: `${pathOf(containerId)}/files?${query}`,
      method: 'GET',
      mostBytes: maxBytes,
    })
  }

  async delete(owner: ContainerOwner, containerId: string): Promise<void> {
    await this.#ask({ owner, path: `${pathOf(containerId)}/delete` })
  }

  async close(): Promise<void> {
    this.#closing.abort()
  }

  /** Resolves to the body of an answer with status 200. */
  #ask(call: RemoteCall): Promise<Buffer> {
    const signals = [this.#closing.signal, ...(call.signal === undefined ? [] : [call.signal])]
    const signal = AbortSignal.any(signals)
    if (signal.aborted) return Promise.reject(signal.reason)
    return new Promise((resolve, reject) => {
      const pieces: Buffer[] = []
      let status = 0
      let left = call.mostBytes ?? ANSWER_BYTES
      const settle = (use: () => void): void => {
        signal.removeEventListener('abort', abort)
        use()
      }
      const abort = (): void => {
        answer.cancel()
        settle(() => reject(signal.reason))
      }
      const answer = this.#options.upstream.call(this.#request(call), {
        onHead: (head) => {
          status = head
        },
        onData: (chunk) => {
          left -= chunk.byteLength
          if (left >= 0) pieces.push(Buffer.from(chunk))
          else {
            answer.cancel()
            settle(() => reject(new SandboxFailure('unavailable', 'The answer of the sandbox is too large.')))
          }
        },
        onEnd: () =>
          settle(() => {
            const body = Buffer.concat(pieces)
            if (status === 200) resolve(body)
            else reject(failureOf(body))
          }),
        onFailure: () => settle(() => reject(UNREACHABLE)),
      })
      signal.addEventListener('abort', abort, { once: true })
    })
  }

  #request({
    owner,
    path,
    method = 'POST',
    body = null,
    type = 'application/json',
    waitMs,
  }: RemoteCall): UpstreamRequest {
    const { url, credential } = this.#options
    const { origin, pathname } = new URL(url)
    const totalMs = waitMs ?? ANSWER_MS
    const length = body === null ? 0 : Buffer.byteLength(body)
    return {
      ...{ method, origin, path: `${pathname.replace(/\/$/, '')}${path}`, body },
      headers: [
        ...['accept-encoding', 'identity', 'user-agent', 'sluice'],
        ...['sluice-organization', owner.organizationId, 'sluice-workspace', owner.workspaceId],
        ...(length > 0 ? ['content-type', type] : []),
        ...(credential === null ? [] : ['authorization', `Bearer ${credential}`]),
      ],
      timeouts: {
        connectMs: CONNECT_MS,
        headersMs: totalMs,
        firstTokenMs: totalMs,
        idleMs: totalMs,
        totalMs,
      },
      ...{ limits: LIMITS, caller: owner.organizationId, deadlineAt: Number.POSITIVE_INFINITY },
      repeatable: method === 'GET',
    }
  }
}

interface RemoteCall {
  readonly owner: ContainerOwner
  /** Behind the URL of the configuration. */
  readonly path: string
  readonly method?: 'GET' | 'POST'
  readonly body?: string | Uint8Array | null
  readonly type?: string
  readonly signal?: AbortSignal
  readonly waitMs?: number
  readonly mostBytes?: number
}

/** Callers name containers: what is no id must not become a path. */
function pathOf(containerId: string): string {
  if (!ID.test(containerId)) throw new SandboxFailure('container_expired', 'There is no such container.')
  return `/containers/${containerId}`
}

/** Of an output that is longer than was asked for. Each character is a byte or more; the rest is a line that says so. */
function cut(output: string, { maxOutputBytes }: SandboxCommand): string {
  return output.slice(0, maxOutputBytes + 100)
}

const UNREACHABLE = new SandboxFailure('unavailable', 'The sandbox could not be reached.')
const BROKEN = new SandboxFailure('unavailable', 'The sandbox answered with something broken.')

function failureOf(body: Buffer): SandboxFailure {
  const parsed = failure.safeParse(jsonOf(body))
  return parsed.success ? new SandboxFailure(parsed.data.error.code, parsed.data.error.message) : BROKEN
}

function toContainer(body: Buffer): Container {
  const { id, expires_at: expiresAt } = parse(container, body)
  return { id, expiresAtUnixMs: expiresAt * 1000 }
}

function parse<T>(schema: z.ZodType<T>, body: Buffer): T {
  const parsed = schema.safeParse(jsonOf(body))
  if (!parsed.success) throw BROKEN
  return parsed.data
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return null
  }
}
