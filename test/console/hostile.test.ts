/** Texts of people who mean harm, in every field that takes one: the console shows them as text, and stays in shape. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import tap, { test } from 'tap'
import { tempFolder } from '../support/data/temp-folder.js'
import { mockUpstream } from '../support/providers/mock-upstream.js'
import { mockChunk } from '../support/servers/chat-bench.js'
import { FederationServer } from '../support/servers/federation-server.js'
import type { Json } from '../support/servers/gateway-server.js'
import { MANAGEMENT_KEY } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'
import { ConsoleBrowser, type ConsolePage, SKIP } from './console-browser.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

/** Markup that would leave an element behind, and script that would open a dialog. */
const MARKUP = '"\'><img class=hostile src=x onerror=alert(1)><script class=hostile>alert(2)</script>'
/** Overrides of direction that would turn round what stands behind them, and a word that no line takes. */
const UNRULY = `\u202Efdp.exe\u2066\u0301\u0301 ${'W'.repeat(90)}`
const HOSTILE = `${MARKUP} ${UNRULY}`
const NUL = '\u0000'

/** What must not be there, and what must: elements of the texts, whatever was stopped, and how much is too wide. */
const JUDGE = `({
  made: document.querySelectorAll('.hostile, script:not([src]), iframe, object, embed').length,
  stopped: gathered.stopped,
  beyond: document.documentElement.scrollWidth - document.documentElement.clientWidth,
})`
const HARMLESS = { made: 0, stopped: [], beyond: 0 }

/** The same text with U+0000 in it, where the API takes that; without where it does not. */
async function withNul(make: (text: string) => Promise<{ status: number; json: Json }>): Promise<Json> {
  for (const text of [NUL + HOSTILE, HOSTILE]) {
    const { status, json } = await make(text)
    if (status < 300) return json
    if (status !== 400 && status !== 422) throw new Error(`${status} ${JSON.stringify(json)}`)
  }
  throw new Error('the text is taken in no form')
}

/** Records of every kind, called as badly as the API permits; their ids. */
async function furnish(bench: FederationServer) {
  const { server } = bench
  const made = async (path: string, body: object, member = 'name') =>
    (await withNul((text) => bench.manage('POST', path, { ...body, [member]: text }))).data
  const [workspace, organization, connection] = [
    await made('/workspaces', {}),
    await made('/organizations', { credits: 10 }),
    await made('/scim-connections', {}),
  ]
  const key = await withNul((name) =>
    bench.manage('POST', '/keys', { name, workspace_id: workspace.id, limit: 5 }),
  )
  const issuer = await made('/federation/issuers', { issuer_url: bench.issuer.url })
  const policy = await bench.newPolicy({
    issuer_id: issuer.id,
    api_key_hash: key.data.hash,
    subject: HOSTILE,
    audience: HOSTILE,
    condition: `subject != ${JSON.stringify(MARKUP)}`,
    claim_checks: { token_type: HOSTILE },
  })
  const token = bench.token({ sub: HOSTILE, aud: [HOSTILE], token_type: HOSTILE, scopes: [HOSTILE] })
  await bench.accessToken(policy.id, token)
  const member = await withNul((text) =>
    bench.manage('POST', '/members', { user_name: text, display_name: text }),
  )
  await bench.manage('PUT', `/members/${member.data.id}/roles/${workspace.id}`, { role: 'admin' })
  const { json } = await bench.manage('POST', `/scim-connections/${connection.id}/tokens`, {})
  const provision = (kind: string, schema: string, body: object) =>
    bench.manage(
      'POST',
      `/scim/v2/${kind}`,
      { schemas: [`urn:ietf:params:scim:schemas:core:2.0:${schema}`], ...body },
      json.token,
    )
  const user = await withNul((userName) => provision('Users', 'User', { userName, active: true }))
  const group = await withNul((displayName) =>
    provision('Groups', 'Group', { displayName, members: [{ value: user.id }] }),
  )
  await bench.made('POST', '/scim/group-mappings', {
    scim_group_id: group.id,
    workspace_id: workspace.id,
    role: 'member',
  })
  const form = new FormData()
  form.set('file', new Blob(['words']), `${MARKUP.replaceAll('/', '')} ${UNRULY}.txt`)
  const bearer = { Authorization: `Bearer ${MANAGEMENT_KEY}` }
  await fetch(`${server.apiUrl}/files`, { method: 'POST', headers: bearer, body: form })
  const answer = await fetch(`${server.apiUrl}/chat/completions`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key.key}`,
      'Content-Type': 'application/json',
      'X-Title': MARKUP,
      'User-Agent': MARKUP,
    },
    body: JSON.stringify({
      model: MODEL,
      messages: [{ role: 'user', content: HOSTILE }],
      session_id: HOSTILE.slice(0, 250),
      user: HOSTILE.slice(0, 200),
    }),
  })
  await answer.arrayBuffer()
  const generation = answer.headers.get('X-Generation-Id')!
  const ids = { workspace, organization, connection, policy, member: member.data }
  return { ...mapIds(ids), key: key.data.hash as string, generation, token }
}

function mapIds<T extends Readonly<Record<string, { id: string }>>>(records: T): Record<keyof T, string> {
  return Object.fromEntries(Object.entries(records).map(([name, { id }]) => [name, id])) as Record<
    keyof T,
    string
  >
}

/** Ids of models cannot be hostile; their names can. */
const MODEL = 'acme/named'
const CITING = 'acme/citing'

/** What a provider may cite: addresses of every kind, with titles that are markup. */
const CITED = [
  'javascript:alert(3)',
  'data:text/html,<script>alert(4)</script>',
  ' javascript:alert(5)//https://example.test/',
  `https://example.test/${MARKUP}`,
].map((url, n) => ({ type: 'url_citation', url_citation: { url, title: `${n} ${HOSTILE}` } }))

function configuration(folder: string, citing: string): string {
  const path = join(folder, 'sluice.json')
  const endpoints = [{ provider: 'inside', upstream_model: 'fast' }]
  const config = {
    providers: {
      inside: { kind: 'simulated', name: MARKUP },
      citing: { kind: 'openai', base_url: `${citing}/v1` },
    },
    models: {
      [MODEL]: { name: HOSTILE, description: HOSTILE, endpoints },
      [CITING]: { endpoints: [{ provider: 'citing' }] },
    },
  }
  writeFileSync(path, JSON.stringify(config))
  return path
}

test(
  'hostile texts are texts on every screen, in dialogs, menus, the palette and toasts',
  SKIP,
  async (t) => {
    const upstream = await mockUpstream(t, (peer) =>
      peer.stream([
        mockChunk({ content: HOSTILE }),
        mockChunk({ annotations: CITED }),
        mockChunk({}, 'stop'),
      ]),
    )
    const config = configuration(tempFolder(t), upstream.origin)
    const bench = await FederationServer.start(t, { SLUICE_CONFIG: config })
    const ids = await furnish(bench)
    const console = await browser.page(t, bench.server.baseUrl, { width: 360 })
    const { page } = console
    page.on('dialog', (dialog) => {
      t.fail(`a dialog was opened: ${dialog.message()}`)
      void dialog.dismiss()
    })
    const harmless = async (name: string): Promise<void> => {
      t.same(await page.evaluate(JUDGE), HARMLESS, name)
    }
    await console.open()
    await console.signIn()

    /** Each with whether the text stands there, so that no screen passes because it is empty. */
    const places: readonly (readonly [place: string, shows: boolean])[] = [
      ['overview', false],
      ['generations', true],
      [`generations?model=${encodeURIComponent(MODEL)}&session=${encodeURIComponent(HOSTILE)}`, false],
      [`generations/${ids.generation}`, true],
      ['usage?period=24h&by=provider', true],
      ['usage?period=24h&by=key', true],
      [`playground?model=${encodeURIComponent(MODEL)}`, false],
      ['models', true],
      [`models/${encodeURIComponent(MODEL)}`, true],
      [`models?q=${encodeURIComponent(HOSTILE)}`, false],
      ['files', true],
      ['keys', true],
      ['keys?new=key', true],
      [`keys/${ids.key}`, true],
      ['workspaces', true],
      [`workspaces/${ids.workspace}`, true],
      ['members', true],
      [`members/${ids.member}`, true],
      ['directory', true],
      [`directory/${ids.connection}`, true],
      ['workload-identity', true],
      ['workload-identity?view=issuers', true],
      ['workload-identity?view=audit', true],
      ['workload-identity?new=policy', true],
      [`workload-identity/${ids.policy}`, true],
      ['organizations', true],
      [`organizations/${ids.organization}`, true],
      ['credits', false],
      ['audit', true],
      ['fleet', false],
      ['tools', false],
      ['settings', false],
      [`settings?q=${encodeURIComponent(HOSTILE)}`, false],
      [`nowhere/${encodeURIComponent(HOSTILE)}`, false],
    ]
    for (const [place, shows] of places) {
      await console.open(place)
      await page.locator('#content h1, #content h2').first().waitFor()
      await page.locator('[aria-busy="true"], .skeleton').first().waitFor({ state: 'detached' })
      // The whole of a text may be an attribute that is shown on hover, where its middle is left out.
      if (shows) {
        const isShown = async (): Promise<boolean> => (await page.content()).includes('onerror')
        t.ok(await eventually(isShown), `${place}: it is shown`)
      }
      await harmless(place)
    }
    await interact(console, ids, harmless)
    // What is no address of a record is told by the API.
    t.same(
      console.problems.filter((problem) => !/40[04]/.test(problem)),
      [],
      'the browser minds nothing',
    )
  },
)

async function interact(
  console: ConsolePage,
  ids: { key: string; policy: string; member: string; token: string },
  harmless: (name: string) => Promise<void>,
): Promise<void> {
  const { page } = console
  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click()
  await console.open(`keys/${ids.key}`)
  await press('Disable')
  await page.getByText('is disabled').waitFor()
  await harmless('a toast')
  await press('Rename')
  await page.getByRole('dialog').waitFor()
  await harmless('a field that begins with it')
  await page.keyboard.press('Escape')
  await press('Delete')
  await page.getByRole('dialog').waitFor()
  await harmless('a question')
  await page.keyboard.press('Escape')
  await console.open(`members/${ids.member}`)
  await press(/^Why/)
  await page.getByRole('dialog').waitFor()
  await harmless('why somebody has a role')
  await console.open('directory')
  await press(/^Change/)
  await page.getByRole('dialog').waitFor()
  await harmless('a dry run')
  await console.open('workload-identity?view=issuers')
  await press(/^Check/)
  await page.getByText('Its key set was found').waitFor()
  await harmless('keys of an issuer')
  await console.open(`workload-identity/${ids.policy}`)
  await page.getByLabel('Token', { exact: true }).fill(ids.token)
  await press('Test')
  await page.locator('.test-steps').waitFor()
  for (const step of await page.locator('.test-steps summary').all()) await step.click()
  await harmless('a token that was taken apart')
  await page.getByLabel('Token', { exact: true }).fill(HOSTILE)
  await press('Test')
  await page.getByText('An exchange would be refused.').waitFor()
  await harmless('a token that is none')
  await console.open()
  await page.locator('main#content h1').waitFor()
  await press(/^Account/)
  await harmless('the menu of the account')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Screen, action or record' }).fill('onerror')
  await page.getByRole('option').nth(3).waitFor()
  await harmless('the palette')
  await page.keyboard.press('Escape')
  await console.open('playground?model=sim/agent')
  await page.locator('summary', { hasText: 'Tools and plugins' }).click()
  await page.getByLabel('datetime').check()
  await page.getByLabel('Your message').fill(`call service:datetime\nanswer ${HOSTILE}`)
  await press('Send')
  await page.locator('.turn.assistant').getByRole('link', { name: 'Its row' }).waitFor()
  await page.locator('.events summary').last().click()
  await page.locator('.events pre').waitFor()
  await harmless('an answer, its events and the call as code')
  await console.picture('hostile-answer')
  await console.open(`playground?model=${CITING}`)
  for (const [n, format] of ['chat', 'messages'].entries()) {
    await page.getByLabel('Format').selectOption(format)
    await page.getByLabel('Your message').fill('x')
    await press('Send')
    const answer = page.locator('.turn.assistant').nth(n)
    await answer.getByRole('link', { name: 'Its row' }).waitFor()
    const sources = answer.getByRole('list', { name: 'Sources' })
    const links = await sources.getByRole('link').all()
    const addresses = await Promise.all(links.map((link) => link.getAttribute('href')))
    if (addresses.length !== 1 || addresses[0] !== CITED.at(-1)!.url_citation.url)
      throw new Error(`${format}: links to ${addresses.join(' and ')}`)
    // Every one is told, and as text what is no address of the web.
    for (const { url_citation } of CITED) await sources.getByText(url_citation.url).waitFor()
    await harmless(`sources of an answer, ${format}`)
  }
  await console.picture('hostile-sources')
}

test('names with a lone surrogate and ids of models with markup are refused, so no screen meets one', async (t) => {
  const bench = await FederationServer.start(t)
  const asked = await bench.manage('POST', '/chat/completions', { model: `acme/${MARKUP}`, messages: [] })
  t.equal(asked.status, 400)
  t.match(asked.json.error.message, 'model: must be the id of a model')
  for (const path of ['/keys', '/workspaces', '/organizations', '/scim-connections']) {
    const { status } = await bench.manage('POST', path, '{"name":"\\ud800 alone"}')
    t.ok(status === 400 || status === 422, `${path} ${status}`)
  }
})
