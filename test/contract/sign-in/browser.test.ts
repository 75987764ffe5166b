/** Sign-in in a real browser: the cookies it takes, and when it sends them. */
import tap from 'tap'
import { findChromium } from '../../../bench/harness/machine/chromium.js'
import { HeadlessBrowser } from '../../lab/headless-browser.js'
import { startPeopleProvider } from '../../support/providers/people-provider.js'
import { MANAGEMENT_KEY } from '../../support/servers/gateway-server.js'
import { SignInBench } from '../../support/servers/sign-in-bench.js'

const program = findChromium()

void tap.test('sign-in in Chromium', { skip: program === null && 'no Chromium is installed' }, async (t) => {
  const bench = await SignInBench.start(t)
  const { baseUrl, apiUrl } = bench.server
  // Another site than the server's, as an identity provider is.
  const people = await startPeopleProvider(t, { host: 'localhost' })
  const organization = await bench.newOrganization()
  const directory = await bench.newDirectory(organization)
  const ann = await bench.addPerson(directory, 'ann', 'ann')
  const provider = await bench.newProvider(organization, directory, {}, people)
  const browser = new HeadlessBrowser(program!)
  t.after(() => browser.close())
  const out = `fetch('/api/v1/session', { method: 'DELETE', headers: { 'X-Sluice-Request': '1' } }).then(({ status }) => status)`
  const who = `fetch('/api/v1/session').then((answer) => answer.status === 200 ? answer.json() : answer.status)`

  t.test('a member comes back from another site with a session that the first page has', async (t) => {
    // What it comes back to answers with who has asked: the cookie has to go along with that very navigation.
    const tab = await browser.open(`${apiUrl}/sign-in/${provider}?return_to=/api/v1/session`)
    await tab.until(`location.pathname === '/api/v1/session' && document.body.innerText.length > 2`)
    const shown = JSON.parse(String(await tab.evaluate('document.body.innerText')))
    t.match(shown.data, { kind: 'member', member: { id: ann } })
    t.equal(await tab.evaluate('document.cookie'), '', 'no script sees the cookie')
    const problems = tab.problems.filter((each) => !each.includes('/favicon.ico'))
    t.strictSame(problems, [], 'but for the picture that a browser asks for of its own accord')
    t.equal(await tab.evaluate(out), 200)
    t.equal(await tab.evaluate(who), 401)
    await tab.close()
  })

  t.test('a page of another site signs nobody in unasked', async (t) => {
    const tab = await browser.open(`${people.issuer}/.well-known/openid-configuration`)
    await tab.until(`document.readyState === 'complete' && location.hostname === 'localhost'`)
    await tab.evaluate(`location.href = '${apiUrl}/sign-in/${provider}?return_to=/api/v1/session'`)
    await tab.until(`location.origin === '${baseUrl}' && document.querySelector('a') !== null`)
    t.match(await tab.evaluate('document.body.innerText'), `sign in with ${people.issuer}`)
    await tab.evaluate(`document.querySelector('a').click()`)
    await tab.until(`location.pathname === '/api/v1/session' && document.body.innerText.length > 2`)
    t.match(await tab.evaluate(who), { data: { member: { id: ann } } })
    t.equal(await tab.evaluate(out), 200)
    await tab.close()
  })

  t.test('a page exchanges a management key, and keeps nothing of it', async (t) => {
    const tab = await browser.open(`${baseUrl}/docs`)
    await tab.until(`document.readyState === 'complete'`)
    const signIn = `fetch('/api/v1/session', { method: 'POST', headers: { Authorization: 'Bearer ${MANAGEMENT_KEY}' } }).then(({ status }) => status)`
    t.equal(await tab.evaluate(signIn), 201)
    t.match(await tab.evaluate(who), { data: { kind: 'management', operator: true } })
    t.equal(await tab.evaluate('document.cookie'), '')
    await tab.close()
  })

  t.test('a page of another site has no session, whatever it tries', async (t) => {
    const tab = await browser.open(`${people.issuer}/.well-known/openid-configuration`)
    await tab.until(`document.readyState === 'complete' && location.hostname === 'localhost'`)
    const form = `(() => {
      const form = document.createElement('form')
      form.method = 'POST'
      form.action = '${apiUrl}/keys'
      document.body.append(form)
      form.submit()
    })()`
    const read = `fetch('${apiUrl}/session', { credentials: 'include' }).then(() => 'read', () => 'refused')`
    t.equal(await tab.evaluate(read), 'refused')
    await tab.evaluate(form)
    await tab.until(`location.href === '${apiUrl}/keys' && document.body.innerText.length > 2`)
    t.match(JSON.parse(String(await tab.evaluate('document.body.innerText'))), { error: { code: 401 } })
    await tab.close()
  })
})
