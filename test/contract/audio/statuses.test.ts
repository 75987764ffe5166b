/** Statuses of speech and transcription that need more than a provider: money, the gateway's own time, defects. */
import { connect } from 'node:net'
import tap, { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import { ANONYMOUS } from '../../../src/base/principal.js'
import { audioEndpoints } from '../../../src/features/audio/endpoints.js'
import type { Catalog } from '../../../src/gateway/catalog/catalog.js'
import type { Gateway } from '../../../src/gateway/gateway.js'
import { FirstEventTimers } from '../../../src/http/event-stream.js'
import type { Spool } from '../../../src/store/spool.js'
import { formOf } from '../../support/clients/incoming-body.js'
import { mockUpstream } from '../../support/providers/mock-upstream.js'
import { type Json, MANAGEMENT_KEY, startGateway } from '../../support/servers/gateway-server.js'
import { pipelineOf } from '../../support/servers/pipeline.js'

const upstream = await mockUpstream(tap)
const model = (modality: string): object => ({
  output_modalities: [modality],
  endpoints: [{ provider: 'silent', prices: { request: '0.01' } }],
})
const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: {
    routing: { retries: 0 },
    limits: { inference_deadline_ms: 1500 },
    providers: { silent: { kind: 'openai', base_url: `${upstream.origin}/v1`, breaker: false } },
    models: { 'acme/ears': model('transcription'), 'acme/voice': model('speech') },
  },
})
tap.teardown(() => server.stop())

const form = formOf('bb', [
  { name: 'model', content: 'acme/ears' },
  { name: 'file', filename: 'a.pcm', content: 'sound' },
])

const CALLS = [
  [
    'transcription',
    '/audio/transcriptions',
    { model: 'acme/ears', input_audio: { data: 'AAAA', format: 'pcm' } },
  ],
  ['speech', '/audio/speech', { model: 'acme/voice', input: 'hi', voice: 'ada' }],
] as const

for (const [what, path, body] of CALLS) {
  test(`${what}: credits that do not suffice are a 402, and nothing is sent`, async (t) => {
    const organization = { name: what, credits: 0.005 }
    const made = (await (
      await server.post('/organizations', organization, { key: MANAGEMENT_KEY })
    ).json()) as Json
    const before = upstream.requests.length
    const reply = await server.post(path, body, { key: made.key })
    const said = (await reply.json()) as Json
    t.equal(reply.status, 402, JSON.stringify(said))
    t.match(said.error, { code: 402, metadata: { error_type: 'payment_required' } })
    t.equal(upstream.requests.length, before)
  })

  test(`${what}: a provider that outlives the deadline of the gateway is told as late: 524, and left`, async (t) => {
    let left: Promise<void> = Promise.resolve()
    upstream.script = (peer) => {
      left = new Promise((resolve) => void peer.socket.on('close', () => resolve()))
    }
    const reply = await server.post(path, body, { key: MANAGEMENT_KEY })
    const said = (await reply.json()) as Json
    t.equal(reply.status, 524, JSON.stringify(said))
    t.equal(said.error.code, 524)
    await left
  })
}

const json = (body: object): Buffer => Buffer.from(JSON.stringify(body))
const FORM_TYPE = 'multipart/form-data; boundary=bb'
const JSON_TYPE = 'application/json'

/** All of a request, of which the last bytes come late. */
const SLOW = [
  ['transcription as a form', '/audio/transcriptions', FORM_TYPE, form],
  ['transcription as JSON', '/audio/transcriptions', JSON_TYPE, json(CALLS[0][2])],
  ['speech', '/audio/speech', JSON_TYPE, json(CALLS[1][2])],
  ['a file', '/files', FORM_TYPE, form],
] as const

test('a body that does not come within the deadline is a 408', async (t) => {
  await Promise.all(
    SLOW.map(async ([what, path, type, body]) => {
      const answer = await slowly(path, type, body, Number.POSITIVE_INFINITY)
      t.match(answer, /^HTTP\/1\.1 408 /, what)
      t.match(answer, /"code":408/, what)
    }),
  )
})

test('a body that leaves nothing of the deadline for a provider is a 504, and none is asked', async (t) => {
  const before = upstream.requests.length
  await Promise.all(
    SLOW.slice(0, 3).map(async ([what, path, type, body]) => {
      const answer = await slowly(path, type, body, 1_800)
      t.match(answer, /^HTTP\/1\.1 504 /, what)
      t.match(answer, /"code":504/, what)
    }),
  )
  t.equal(upstream.requests.length, before)
})

/** Sends a body whose last byte comes after `lastMs`, and resolves with what was answered. */
function slowly(path: string, type: string, body: Buffer, lastMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(server.apiUrl)
    const socket = connect(Number(port), '127.0.0.1')
    let answer = ''
    socket.setEncoding('latin1').on('data', (text: string) => {
      answer += text
      if (answer.includes('"code"')) socket.destroy()
    })
    socket.on('error', reject)
    // A byte now and then, so that the connection counts as alive.
    let sent = body.length - 20
    const begun = performance.now()
    const drip = setInterval(() => {
      const last = performance.now() - begun >= lastMs
      const end = last ? body.length : Math.min(sent + 1, body.length - 1)
      if (end > sent) socket.write(body.subarray(sent, end))
      sent = end
    }, 300)
    socket.on('close', () => {
      clearInterval(drip)
      resolve(answer)
    })
    const lines = ['Host: t', `Authorization: Bearer ${MANAGEMENT_KEY}`, `Content-Type: ${type}`]
    const head = `POST /api/v1${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n`
    socket.write(head)
    socket.write(body.subarray(0, sent))
  })
}

test('speech: a body over the limit is a 413', async (t) => {
  const reply = await server.post('/audio/speech', Buffer.alloc(21 * 1024 * 1024, ' '))
  t.equal(reply.status, 413)
  t.equal(((await reply.json()) as Json).error.code, 413)
})

// ── Forms that are none ─────────────────────────────────────────────────────

const MODEL = { name: 'model', content: 'acme/ears' }
const BROKEN = [
  ['a form without a boundary', 'multipart/form-data', form, /boundary/],
  ['another kind of multipart', 'multipart/mixed; boundary=bb', form, /boundary/],
  ['a form without its end', FORM_TYPE, form.subarray(0, -8), /ends before its closing boundary/],
  [
    'a form in a form',
    FORM_TYPE,
    formOf('bb', [MODEL, { name: 'file', type: 'multipart/mixed; boundary=cc', content: '--cc--' }]),
    /may not be nested/,
  ],
  ['257 fields', FORM_TYPE, formOf('bb', Array(257).fill(MODEL)), /at most 256 parts/],
  [
    'a field of 65,537 bytes',
    FORM_TYPE,
    formOf('bb', [{ name: 'prompt', content: 'x'.repeat(65_537) }, MODEL]),
    /field of more than 65536 bytes/,
  ],
  [
    'the header of a part of 9,000 bytes',
    FORM_TYPE,
    formOf('bb', [{ ...MODEL, type: `text/plain; x=${'x'.repeat(9_000)}` }]),
    /header is longer than 8192 bytes/,
  ],
  [
    'a file under another name',
    FORM_TYPE,
    formOf('bb', [MODEL, { name: 'audio', filename: 'a.pcm', content: 'sound' }]),
    /name of the part that holds a file/,
  ],
] as const

for (const [what, type, body, sentence] of BROKEN) {
  test(`transcription: ${what} is a 400, and nothing is sent`, async (t) => {
    const before = upstream.requests.length
    const headers = { 'Content-Type': type }
    const reply = await server.post('/audio/transcriptions', body, { key: MANAGEMENT_KEY, headers })
    const said = (await reply.json()) as Json
    t.equal(reply.status, 400, JSON.stringify(said))
    t.match(said.error.message, sentence)
    t.equal(upstream.requests.length, before)
  })
}

// ── Defects ─────────────────────────────────────────────────────────────────

function broken(cause: unknown): { readonly gateway: Gateway; readonly spool: Spool } {
  const fail = (): never => {
    throw cause
  }
  return {
    gateway: { prepare: fail } as unknown as Gateway,
    spool: { beginWrite: () => ({ write: fail, finish: fail, abandon: () => {} }) },
  }
}

const EMPTY = { model: () => null } as unknown as Catalog
for (const [what, cause, status] of [
  ['a defect', new Error('broken on purpose'), 500],
  ['a spool that takes nothing', new Fault('unavailable'), 503],
] as const) {
  test(`${what} is a ${status} that does not say why`, async (t) => {
    const { inject, lines } = pipelineOf(
      audioEndpoints({
        ...broken(cause),
        catalog: () => EMPTY,
        uploadBytes: 100_000,
        fetchFile: () => Promise.reject(cause),
        bodyLimit: 100_000,
        deadlineMs: 5_000,
        firstEventTimers: new FirstEventTimers(15_000),
      }),
      { authority: { authorize: () => ANONYMOUS } },
    )
    const asJson = [['Content-Type', JSON_TYPE] as const]
    const asked = [
      ...CALLS.map(([, url, body]) => ({ url, headers: asJson, body: json(body) })),
      { url: '/audio/transcriptions', headers: [['Content-Type', FORM_TYPE] as const], body: form },
    ]
    for (const { url, headers, body } of asked) {
      const reply = await inject({ method: 'POST', url: `/api/v1${url}`, headers, body })
      t.equal(reply.status, status, url)
      t.notOk(reply.body.toString().includes('on purpose'))
      if (status === 503) t.match(reply.headers['retry-after'], /^\d+$/)
    }
    if (status === 500) t.ok(lines.length >= asked.length, 'the log knows')
  })
}
