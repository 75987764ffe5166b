/** What callers are told on paths that do not exist (contract/decisions 50). */
import { test } from 'tap'
import { serviceDocument } from '../../../src/app.js'
import { pathAdviser } from '../../../src/features/start/unknown-paths.js'

const paths = Object.keys(serviceDocument('off').paths as object).filter((path) => path !== '/api/v1/health')
const adviseOn = pathAdviser([...paths, '/docs'])

const MEANT: readonly (readonly [asked: string, told: RegExp])[] = [
  ['/v1/chat/completions', /use \/api\/v1\/chat\/completions \(base URLs end with \/api\/v1/],
  ['/chat/completions', /use \/api\/v1\/chat\/completions/],
  ['/openai/v1/chat/completions', /use \/api\/v1\/chat\/completions/],
  ['/api/v1/v1/chat/completions', /use \/api\/v1\/chat\/completions/],
  ['/api/v1/chat/completions/', /use \/api\/v1\/chat\/completions/],
  ['/v1/messages', /use \/api\/v1\/messages/],
  ['/messages/count_tokens', /use \/api\/v1\/messages\/count_tokens/],
  ['/v1/models', /use \/api\/v1\/models/],
  ['/v1/models/acme/large/endpoints', /use \/api\/v1\/models\/\{author\}\/\{slug\}\/endpoints/],
  ['/oauth/token', /use \/api\/v1\/oauth\/token/],
  ['/api/v1/docs', /^use \/docs$/],
  ['/api/v1/chat/completion', /use POST \/api\/v1\/chat\/completions/],
  ['/chat', /use POST \/api\/v1\/chat\/completions/],
  ['/v1/completions', /a prompt without messages is not served; use POST \/api\/v1\/chat\/completions/],
  ['/api/v1/responses', /the responses format is not served; .*openai\.chat\(model\)/],
  ['/responses/resp_1', /the responses format is not served/],
  ['/v1/messages/batches', /batches are not served/],
  ['/api/v1/batches/b1/cancel', /batches are not served/],
  ['/v1beta/models/some:generateContent', /use POST \/api\/v1\/chat\/completions/],
  ['/api/tags', /use GET \/api\/v1\/models/],
  ['/api/generate', /use POST \/api\/v1\/chat\/completions/],
  ['/healthz', /use GET \/api\/v1\/health/],
  ['/openapi.json', /\/api\/v1\/openapi\.json/],
  ['/.well-known/openid-configuration', /oauth-authorization-server/],
  ['/v1/audio/translations', /POST \/api\/v1\/audio\/transcriptions/],
  ['/v1/images/generations', /is not served here/],
]

test('a path that clients of this field try is answered with what to use instead', async (t) => {
  for (const [asked, told] of MEANT) t.match(adviseOn(asked), told, asked)
})

test('of other paths nobody knows what was meant, and none is told again', async (t) => {
  for (const path of [
    '/api',
    '/api/v1/',
    '/items/1',
    '/api/v1/items/',
    '/api/v1/health/',
    '/nothing',
    '/api/v1/nothing',
    '/wp-login.php',
    `/v1/${'a'.repeat(300)}`,
  ]) {
    t.equal(adviseOn(path), null, path)
  }
  for (const [asked] of MEANT) t.notMatch(adviseOn(asked.replace(/[^/]+$/, 's3cr3t')) ?? '', 's3cr3t', asked)
})

test('every operation is found behind the base paths of other servers', async (t) => {
  for (const path of paths.filter((each) => each.startsWith('/api/v1/') && !each.includes('{'))) {
    t.match(adviseOn(path.replace('/api/v1', '/v1')), `use ${path}`)
  }
})
