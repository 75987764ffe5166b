/** Members of a directory sign in with an identity provider that nobody here wrote. */
import tap, { test } from 'tap'
import type { BrowserCalls } from '../../support/clients/browser-calls.js'
import { LyingProvider } from '../../support/providers/lying-provider.js'
import { CLIENT, startPeopleProvider } from '../../support/providers/people-provider.js'
import type { Json } from '../../support/servers/gateway-server.js'
import { SignInBench } from '../../support/servers/sign-in-bench.js'
import { eventually } from '../../support/timing/eventually.js'

const bench = await SignInBench.start(tap)
const SESSION = '/api/v1/session'
const COOKIE = '__Host-sluice-session'
const ATTEMPT = '__Host-sluice-sign-in'

/** An organization with a directory, two people and a provider. */
async function world() {
  const organization = await bench.newOrganization()
  const directory = await bench.newDirectory(organization)
  const ann = await bench.addPerson(directory, 'ann@example.com', 'ann')
  const bob = await bench.addPerson(directory, 'bob@example.com', 'bob')
  const provider = await bench.newProvider(organization, directory)
  return { organization, directory, ann, bob, provider }
}

async function whoIs(browser: BrowserCalls): Promise<Json> {
  const response = await browser.fetch(SESSION)
  return response.status === 200 ? ((await response.json()) as Json).data : response.status
}

/** Reasons in the audit of an organization, the newest first. */
async function reasons(key: string): Promise<string[]> {
  const { json } = await bench.manage('GET', '/federation/audit?trail=refused', undefined, key)
  return json.data.map((row: Json) => row.reason)
}

test('a member signs in, is who the directory says, and signs out', async (t) => {
  const { organization, ann, provider } = await world()
  const browser = bench.browser()
  const there = await bench.begin(browser, provider, '?return_to=/docs%3Fa=1')
  t.equal(there.origin, bench.people.issuer)
  const asked = there.searchParams
  t.match(asked.get('redirect_uri'), `${bench.server.apiUrl}/sign-in/${provider}/callback`)
  for (const [name, value] of [
    ['client_id', CLIENT.id],
    ['response_type', 'code'],
    ['scope', 'openid'],
    ['code_challenge_method', 'S256'],
  ] as const) {
    t.equal(asked.get(name), value)
  }
  for (const name of ['state', 'nonce', 'code_challenge']) t.match(asked.get(name), /^[\w-]{43}$/, name)
  t.strictSame([...browser.cookies.keys()], [ATTEMPT])
  bench.people.account = 'ann'
  const response = await bench.finish(browser, await bench.people.visit(there.href))
  const page = await response.text()
  t.equal(response.status, 200, page)
  t.match(page, '<meta http-equiv="refresh" content="0; url=/docs?a=1">')
  t.match(response.headers.get('content-security-policy'), /default-src 'none'/)
  t.equal(response.headers.get('referrer-policy'), 'no-referrer')
  t.equal(response.headers.get('cache-control'), 'no-store')
  t.strictSame([...browser.cookies.keys()], [COOKIE], 'the attempt is forgotten')
  t.match(response.headers.getSetCookie().join(), /SameSite=Strict; Max-Age=28800/)
  const who = await whoIs(browser)
  t.match(who, { kind: 'member', operator: false, member: { id: ann, user_name: 'ann@example.com' } })
  t.equal(who.organization.id, organization.id)
  t.strictSame(who.workspaces, [])
  t.equal((await browser.fetch('/api/v1/scim-connections')).status, 403)
  const { json } = await bench.manage('GET', '/sessions', undefined, organization.key)
  t.match(json.data, [{ member_id: ann, name: 'ann@example.com', provider_id: provider, key_hash: null }])
  t.equal((await browser.fetch(SESSION, { method: 'DELETE' })).status, 200)
  t.equal(await whoIs(browser), 401)
  await eventually(async () => {
    const audit = await bench.manage('GET', '/federation/audit?trail=issued', undefined, organization.key)
    return audit.json.data.some((row: Json) => row.action === 'sign-in' && row.actor === ann)
  })
})

test('a provider that signs with RSA, and binds by another claim', async (t) => {
  const { organization, directory } = await world()
  const people = await startPeopleProvider(t, { algorithm: 'RS256' })
  const eve = await bench.addPerson(directory, 'eve', 'object-7')
  const wish = { subject_claim: 'oid' }
  const provider = await bench.newProvider(organization, directory, wish, people)
  people.account = '7'
  const browser = bench.browser()
  const back = await people.visit((await bench.begin(browser, provider)).href)
  t.equal((await bench.finish(browser, back)).status, 200)
  t.equal((await whoIs(browser)).member.id, eve)
})

test('a member’s session ends with the member, and comes back with it', async (t) => {
  const { directory, ann, provider } = await world()
  const browser = bench.browser()
  await bench.signIn(browser, provider, 'ann')
  t.equal((await whoIs(browser)).member.id, ann)
  await bench.setActive(directory, ann, false)
  const answers = await Promise.all(Array.from({ length: 10 }, () => whoIs(browser)))
  t.ok(
    answers.every((answer) => answer === 401),
    'on every worker, from the answer on',
  )
  t.equal((await bench.signIn(bench.browser(), provider, 'ann')).status, 403, 'and nobody inactive signs in')
  await bench.setActive(directory, ann, true)
  t.equal((await whoIs(browser)).member.id, ann)
  await bench.deletePerson(directory, ann)
  t.equal(await whoIs(browser), 401)
  t.equal((await bench.signIn(bench.browser(), provider, 'ann')).status, 403)
})

test('a subject that none or several have is nobody, and the person is not told which', async (t) => {
  const { organization, directory, provider } = await world()
  await bench.addPerson(directory, 'twin one', 'twin')
  const second = await bench.addPerson(directory, 'twin two', 'twin')
  const pages = []
  for (const account of ['stranger', 'twin', 'ann@example.com', 'ANN']) {
    const browser = bench.browser()
    const response = await bench.signIn(browser, provider, account)
    t.equal(response.status, 403, account)
    t.strictSame([...browser.cookies.keys()], [], account)
    pages.push((await response.text()).replace(/Request \S+</, ''))
  }
  t.equal(new Set(pages).size, 1)
  t.match(pages[0], /no single active member/)
  await eventually(async () => (await reasons(organization.key)).length === 4)
  t.match((await reasons(organization.key)).sort(), [
    /no active member/,
    /no active member/,
    /no active member/,
    /several members/,
  ])
  await bench.setActive(directory, second, false)
  t.equal((await bench.signIn(bench.browser(), provider, 'twin')).status, 200, 'one active member is one')
})

test('people of another directory, and of another organization, are nobody', async (t) => {
  const here = await world()
  const there = await world()
  const other = await bench.newDirectory(here.organization)
  await bench.addPerson(other, 'carol', 'carol')
  t.equal((await bench.signIn(bench.browser(), here.provider, 'carol')).status, 403)
  const ofOther = await bench.newProvider(here.organization, other)
  t.equal((await bench.signIn(bench.browser(), ofOther, 'carol')).status, 200)
  t.equal((await bench.signIn(bench.browser(), ofOther, 'ann')).status, 403)
  const byHand = await bench.newProvider(here.organization, null)
  t.equal((await bench.signIn(bench.browser(), byHand, 'ann')).status, 403, 'nobody was added by hand')
  const browser = bench.browser()
  await bench.signIn(browser, there.provider, 'ann')
  t.equal((await whoIs(browser)).organization.id, there.organization.id)
})

test('an attempt is of the browser that began it, and makes one session', async (t) => {
  const { provider } = await world()
  const browser = bench.browser()
  const there = await bench.begin(browser, provider)
  bench.people.account = 'ann'
  const back = await bench.people.visit(there.href)
  const attempt = browser.cookies.get(ATTEMPT)!
  const stranger = bench.browser()
  t.equal((await bench.finish(stranger, back)).status, 400, 'another browser')
  const victim = bench.browser()
  await bench.begin(victim, provider)
  t.equal((await bench.finish(victim, back)).status, 403, 'an attempt of its own, and the state of another')
  t.equal(victim.cookies.has(COOKIE), false)
  for (const forged of [
    attempt.slice(1),
    `${attempt}A`,
    attempt.replace(/^./, (c) => (c === 'A' ? 'B' : 'A')),
    'x',
  ])
    t.equal((await bench.finish(withAttempt(forged), back)).status, 400, 'a cookie we have not sealed')
  t.equal((await bench.finish(browser, back)).status, 200)
  t.equal((await bench.finish(withAttempt(attempt), back)).status, 400, 'again')
})

function withAttempt(sealed: string): BrowserCalls {
  const browser = bench.browser()
  browser.cookies.set(ATTEMPT, sealed)
  return browser
}

test('a code of one provider is not brought to another, whoever has sent the browser there', async (t) => {
  const { organization, directory, provider } = await world()
  const liar = await LyingProvider.start(t)
  const wish = { issuer: liar.url, client_secret: null }
  const untrue = await bench.newProvider(organization, directory, wish)
  const browser = bench.browser()
  const begun = await bench.begin(browser, untrue)
  // The untrue one sends its visitor on to the true one, as our client there and with the state of its own attempt.
  const attacker = await bench.begin(bench.browser(), provider)
  attacker.searchParams.set('state', begun.searchParams.get('state')!)
  bench.people.account = 'ann'
  const back = await bench.people.visit(attacker.href)
  t.ok(back.searchParams.has('code'))
  t.equal((await bench.finish(browser, back)).status, 400)
  t.notOk(liar.asked.includes('/token'), 'the code would have been theirs')
  attacker.searchParams.set('redirect_uri', begun.searchParams.get('redirect_uri')!)
  await t.rejects(bench.people.visit(attacker.href), /400/, 'nor does the true one send anybody there')
})

test('whom another site sends to a sign-in is asked first', async (t) => {
  const { provider } = await world()
  const path = `/api/v1/sign-in/${provider}?return_to=${encodeURIComponent('/docs?a=b&c="d')}`
  for (const site of ['cross-site', 'same-site'] as const) {
    const browser = bench.browser()
    const page = await browser.open(path, site)
    t.equal(page.status, 200, site)
    t.equal(page.headers.get('location'), null)
    t.match(page.headers.get('content-security-policy'), /frame-ancestors 'none'/)
    t.strictSame([...browser.cookies.keys()], [])
    const text = await page.text()
    t.match(text, `<code>${bench.people.issuer}</code>`)
    t.notMatch(text, 'http-equiv')
    const link = /<a href="([^"]+)">Sign in</.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? ''
    t.equal((await browser.open(link, 'same-origin')).status, 302)
    bench.people.account = 'ann'
    const there = await bench.begin(browser, provider, new URL(link, bench.server.baseUrl).search)
    const signedIn = await bench.finish(browser, await bench.people.visit(there.href))
    t.match(await signedIn.text(), 'url=/docs?a=b&amp;c=&quot;d"')
  }
  t.equal((await bench.browser().open('/api/v1/sign-in/none', 'cross-site')).status, 404)
})

test('of several callbacks of one attempt at once at most one makes a session', async (t) => {
  const { organization, provider } = await world()
  const browser = bench.browser()
  bench.people.account = 'ann'
  const back = await bench.people.visit((await bench.begin(browser, provider)).href)
  const attempt = browser.cookies.get(ATTEMPT)!
  const answers = await Promise.all(Array.from({ length: 5 }, () => bench.finish(withAttempt(attempt), back)))
  t.ok(answers.filter(({ status }) => status === 200).length <= 1)
  const { json } = await bench.manage('GET', '/sessions', undefined, organization.key)
  t.ok(json.total_count <= 1)
})

test('a code without its verifier, a state that is changed, and a denial end in a refusal', async (t) => {
  const { organization, provider } = await world()
  const change = (name: string, value: string | null) => async (back: URL) => {
    if (value === null) back.searchParams.delete(name)
    else back.searchParams.set(name, value)
  }
  for (const edit of [
    change('state', 'x'.repeat(43)),
    change('state', null),
    change('code', 'made-up'),
    change('code', null),
    change('iss', 'https://evil.example'),
  ]) {
    const browser = bench.browser()
    bench.people.account = 'ann'
    const back = await bench.people.visit((await bench.begin(browser, provider)).href)
    await edit(back)
    t.equal((await bench.finish(browser, back)).status, 403, back.search)
    t.equal(browser.cookies.has(COOKIE), false)
  }
  const denied = await bench.signIn(bench.browser(), provider, null)
  t.equal(denied.status, 403)
  const page = await denied.text()
  t.match(page, /did not sign you in/)
  t.notMatch(page, 'canary', 'no words of the provider')
  // Theirs is an attempt of another browser, whose code they put into their own callback.
  const [mine, theirs] = [bench.browser(), bench.browser()]
  bench.people.account = 'bob'
  const stolen = await bench.people.visit((await bench.begin(theirs, provider)).href)
  const back = await bench.people.visit((await bench.begin(mine, provider)).href)
  back.searchParams.set('code', stolen.searchParams.get('code')!)
  t.equal((await bench.finish(mine, back)).status, 403)
  await eventually(async () => (await reasons(organization.key)).length === 7)
  for (const reason of await reasons(organization.key)) t.notMatch(reason, 'canary')
})

test('programs are told in JSON', async (t) => {
  const response = await fetch(`${bench.server.apiUrl}/sign-in/none/callback?code=a&state=b`)
  t.equal(response.status, 400)
  t.match(await response.json(), { error: { code: 400, message: /not begun in this browser/ } })
  const unknown = await fetch(`${bench.server.apiUrl}/sign-in/01a1f979-1e43-72a7-b412-56634c02ee45`)
  t.equal(unknown.status, 404)
})

test('one comes back to a path of this server and to nothing else', async (t) => {
  const { provider } = await world()
  const good = ['/', '/docs', '/console?a=b&c=d#e', '/a//b']
  const bad = [
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    'docs',
    '',
    '/a\\b',
    '/\u00e9',
    '/a b',
  ]
  for (const path of [...good, ...bad, `/${'a'.repeat(512)}`]) {
    const response = await bench
      .browser()
      .open(`/api/v1/sign-in/${provider}?return_to=${encodeURIComponent(path)}`)
    t.equal(response.status, good.includes(path) ? 302 : 400, path.slice(0, 30))
  }
  const browser = bench.browser()
  const page = await (
    await bench.signIn(browser, provider, 'ann', `?return_to=${encodeURIComponent('/"><b>')}`)
  ).text()
  t.notMatch(page, '"><b>')
})

test('a provider that is deleted ends its sessions, and its sign-ins under way', async (t) => {
  const { organization, provider } = await world()
  const [browser, under] = [bench.browser(), bench.browser()]
  await bench.signIn(browser, provider, 'ann')
  const back = await bench.people.visit((await bench.begin(under, provider)).href)
  t.equal(
    (await bench.manage('DELETE', `/sign-in-providers/${provider}`, undefined, organization.key)).status,
    200,
  )
  t.equal(await whoIs(browser), 401)
  t.equal((await bench.finish(under, back)).status, 400)
})

test('no log and no answer holds the secret of the client', async (t) => {
  const { organization, provider } = await world()
  const { json } = await bench.manage('GET', `/sign-in-providers/${provider}`, undefined, organization.key)
  t.match(json.data, { has_client_secret: true })
  t.notMatch(JSON.stringify(json), 'canary')
  t.notMatch(bench.server.log(), 'canary')
})
