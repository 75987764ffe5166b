import { test } from 'tap'
import { z } from 'zod'
import { Fault } from '../../src/base/fault.js'
import { gateway } from '../../src/http/dialects/gateway.js'
import { jsonReply } from '../../src/http/reply.js'
import { pipelineOf, probe } from '../support/servers/pipeline.js'

const limited = (limit: () => Promise<void> | null) =>
  probe('/limited', {
    method: 'POST',
    dialect: gateway,
    body: z.object({ n: z.number() }),
    limit,
    handle: ({ body }) => jsonReply(200, body),
  })

const TOO_MANY = new Fault('rate-limited', { retryAfter: 7 })

test('a limit lets a call through at once or later, and reads what was sent either way', async (t) => {
  for (const limit of [() => null, () => Promise.resolve(), () => new Promise<void>(setImmediate)]) {
    const { inject } = pipelineOf([limited(limit)])
    const reply = await inject({ method: 'POST', url: '/limited', body: '{"n":1}' })
    t.strictSame([reply.status, reply.body.toString()], [200, '{"n":1}'])
    t.equal((await inject({ method: 'POST', url: '/limited', body: '{"n":"x"}' })).status, 400)
  }
})

test('a call that is too many is told so before anything that is wrong with it', async (t) => {
  const thrown = (): null => {
    throw TOO_MANY
  }
  for (const limit of [thrown, () => Promise.reject(TOO_MANY)]) {
    const { inject } = pipelineOf([limited(limit)])
    for (const body of ['{"n":1}', '{', '']) {
      const reply = await inject({ method: 'POST', url: '/limited', body })
      t.equal(reply.status, 429)
      t.equal(reply.headers['retry-after'], '7')
    }
  }
})
