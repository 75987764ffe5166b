import tap, { test } from 'tap'
import { FederationServer } from '../support/servers/federation-server.js'
import { ConsoleBrowser, SKIP, THEMES, WIDTHS } from './console-browser.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

test(
  'an admin makes a policy with a checked condition, tests a token and pauses the policy',
  SKIP,
  async (t) => {
    const bench = await FederationServer.start(t)
    await bench.newIssuer()
    await bench.newKey()
    const console = await browser.page(t, bench.server.baseUrl)
    const { page } = console
    await console.open('workload-identity')
    await console.signIn()
    await console.settle('workload-identity', 'Workload identity')
    await page.getByRole('button', { name: 'Create a policy' }).click()
    const dialog = page.getByRole('dialog', { name: 'Create a policy' })
    await dialog.getByLabel('Acts as the key').selectOption('target')
    await dialog.getByLabel('Audience').fill('sluice')
    await dialog.getByLabel('Condition').fill('true && nobody')
    await dialog.getByText('At character 9: unknown name: nobody.').waitFor()
    await dialog.getByLabel('Condition').fill('subject.startsWith("repo:octo/") && "deploy" in scopes')
    await dialog.getByText('The condition is sound.').waitFor()
    await dialog.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Any subject' }).waitFor()

    await page.getByLabel('Token', { exact: true }).fill(bench.token({ scopes: ['read'] }))
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByText('An exchange would be refused.').waitFor()
    await page.getByText('`scopes` contains "deploy"', { exact: true }).waitFor()
    await page.getByLabel('Token', { exact: true }).fill(bench.token({ scopes: ['deploy'] }))
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByText('An exchange would give a token.').waitFor()

    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('The policy is paused').waitFor()
    const [{ id, enabled }] = await bench.made('GET', '/federation/policies')
    t.equal(enabled, false)
    t.equal((await bench.exchange(id)).json.error, 'invalid_grant')
    t.same(console.problems, [])
  },
)

for (const theme of THEMES) {
  test(`list and tester are whole in the ${theme} theme, from narrow to wide`, SKIP, async (t) => {
    const bench = await FederationServer.start(t)
    const condition = 'subject.startsWith("repo:octo/") && ("deploy" in scopes || "release" in scopes)'
    const { policy } = await bench.trusting({ condition, subject: null })
    for (const width of WIDTHS) {
      const console = await browser.page(t, bench.server.baseUrl, { theme, width })
      const { page } = console
      await console.open('workload-identity')
      await console.signIn()
      for (const place of [
        'workload-identity',
        'workload-identity?view=issuers',
        'workload-identity?new=issuer',
        'workload-identity?new=policy',
      ]) {
        await console.settle(place, 'Workload identity')
        const name = `${place.replace(/[^a-z]+/g, '-')}-${theme}-${width}`
        await console.picture(name)
        await console.judge(t, name)
      }
      await console.open(`workload-identity/${policy.id}`)
      await page.getByLabel('Token', { exact: true }).fill(bench.token({ aud: 'elsewhere' }))
      await page.getByRole('button', { name: 'Test', exact: true }).click()
      await page.getByText('An exchange would be refused.').waitFor()
      await console.picture(`policy-tester-${theme}-${width}`)
      await console.judge(t, `policy-tester-${theme}-${width}`)
    }
  })
}
