import tap, { test } from 'tap'
import { FederationServer } from '../support/servers/federation-server.js'
import { ConsoleBrowser, type ConsolePage, SKIP, WIDTHS } from './console-browser.js'

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
    await page.getByText('Only programs on this machine reach this address.').waitFor()
    await page.getByLabel('It runs on').selectOption('GitHub Actions')
    const job = page.locator('.code pre', { hasText: 'runs-on' })
    t.match(
      await job.innerText(),
      /branches: \[main\].*jq -er.*jq -er.*curl -N --fail-with-body/s,
      'it fails where it is refused, and runs where the recipe’s subject is',
    )

    await page.getByLabel('Token', { exact: true }).fill(bench.token({ scopes: ['read'] }))
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByText('An exchange would be refused.').waitFor()
    await page.getByText('`scopes` contains "deploy"', { exact: true }).waitFor()
    await page.getByLabel('Token', { exact: true }).fill(bench.token({ scopes: ['deploy'] }))
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByText('An exchange would give a token.').waitFor()

    const { hash: other } = await bench.newKey()
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    const acts = page.getByRole('dialog').getByLabel('Acts as the key')
    t.equal(await acts.locator('option:checked').innerText(), 'target')
    await acts.selectOption(other)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The policy is changed').waitFor()
    t.match(await bench.made('GET', '/federation/policies'), [{ api_key_hash: other }])
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('The policy is paused').waitFor()
    const [{ id, enabled }] = await bench.made('GET', '/federation/policies')
    t.equal(enabled, false)
    t.equal((await bench.exchange(id)).json.error, 'invalid_grant')
    t.same(console.problems, [])
  },
)

test(
  'of two admins on one policy the second sees what the first has saved, and nothing is lost',
  SKIP,
  async (t) => {
    const bench = await FederationServer.start(t)
    const condition = 'subject.startsWith("repo:octo/")'
    const { policy } = await bench.trusting({ condition, subject: null })
    const admins = []
    for (const width of [1280, 360]) {
      const console = await browser.page(t, bench.server.baseUrl, { width })
      await console.open(`workload-identity/${policy.id}`)
      await console.signIn()
      await console.page.getByRole('button', { name: 'Change', exact: true }).click()
      admins.push(console)
    }
    const [first, second] = admins as [ConsolePage, ConsolePage]
    const inFirst = first.page.getByRole('dialog')
    await inFirst.getByLabel('Audience').fill('theirs')
    await inFirst.getByLabel('Condition').fill(`${condition}\n  && "deploy" in scopes`)
    await inFirst.getByRole('button', { name: 'Save' }).click()
    await first.page.getByText('The policy is changed').waitFor()
    const inSecond = second.page.getByRole('dialog')
    await inSecond.getByLabel('Subject').fill('repo:octo/app')
    await inSecond.getByLabel('Condition').fill(`${condition}\n  && "release" in scopes`)
    await inSecond.getByRole('button', { name: 'Save' }).click()
    const merge = second.page.getByRole('dialog', { name: 'Somebody else has changed this policy' })
    await merge.waitFor()
    const [before] = await bench.made('GET', '/federation/policies')
    t.match(
      before,
      { audience: 'theirs', subject: null, condition: /deploy/ },
      'what the first has saved stands',
    )
    t.ok(
      await merge.getByRole('button', { name: 'Save both' }).isDisabled(),
      'the condition has to be chosen',
    )
    const fresh = ['theirs\n', 'repo:octo/app\n', '  && "deploy" in scopes\n', '  && "release" in scopes\n']
    t.same(await merge.locator('ins').allInnerTexts(), fresh, 'lines that were not there before are marked')
    t.match(second.problems.splice(0), [/412/], 'the browser tells of the refusal as well')
    // What lies beneath is put in its place when the answer has come, and moves.
    await second.forgiveMoves()
    await second.judge(t, 'a merge')
    await second.picture('policy-merge-light-360')
    await merge.getByRole('group', { name: 'Condition' }).getByLabel('Yours').check()
    // A third change comes between once more.
    await bench.made('PATCH', `/federation/policies/${policy.id}`, { audience: 'third' })
    await merge.getByRole('button', { name: 'Save both' }).click()
    await merge.getByText('third').waitFor()
    await merge.getByRole('button', { name: 'Save both' }).click()
    await second.page.getByText('The policy is changed').waitFor()
    const [after] = await bench.made('GET', '/federation/policies')
    t.match(after, { audience: 'third', subject: 'repo:octo/app', condition: /release/ })
  },
)

test('list and tester are whole in both themes, from narrow to wide', SKIP, async (t) => {
  const bench = await FederationServer.start(t)
  const condition = 'subject.startsWith("repo:octo/") && ("deploy" in scopes || "release" in scopes)'
  const { policy } = await bench.trusting({ condition, subject: null })
  for (const width of WIDTHS) {
    const console = await browser.page(t, bench.server.baseUrl, { width })
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
      await console.judgeThemes(t, `${place.replace(/[^a-z]+/g, '-')}-${width}`)
    }
    await console.open(`workload-identity/${policy.id}`)
    await page.getByLabel('Token', { exact: true }).fill(bench.token({ aud: 'elsewhere' }))
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByText('An exchange would be refused.').waitFor()
    await console.judgeThemes(t, `policy-tester-${width}`)
  }
})

test('an issuer is trusted, and whether its keys can be had is told at once', SKIP, async (t) => {
  const bench = await FederationServer.start(t)
  const console = await browser.page(t, bench.server.baseUrl, { width: 360 })
  const { page } = console
  await console.open('workload-identity?new=issuer')
  await console.signIn()
  const dialog = page.getByRole('dialog', { name: 'Trust an issuer' })
  await dialog.getByLabel('Name').fill('Local')
  await dialog.getByLabel('Issuer URL').fill(bench.issuer.url)
  await dialog.getByRole('button', { name: 'Trust it' }).click()
  const found = page.getByRole('dialog', { name: 'Keys of Local' })
  await found.getByText('Its key set was found').waitFor()
  await found.getByText('k1', { exact: true }).waitFor()
  await console.forgiveMoves()
  await console.picture('issuer-check-light-360')
  await console.judge(t, 'a checked issuer')
  await page.keyboard.press('Escape')
  await bench.newIssuer({ name: 'Gone', issuer_url: `${bench.issuer.url}/gone` })
  await console.open('workload-identity?view=issuers')
  await page.getByRole('button', { name: 'Check the keys of Gone' }).click()
  await page.getByText('Its key set was not found').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Change Gone' }).click()
  const change = page.getByRole('dialog', { name: 'Change Gone' })
  await change.getByLabel('Name').fill('Back')
  await change.getByLabel('Issuer URL').fill(bench.issuer.url)
  await change.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog', { name: 'Keys of Back' }).getByText('Its key set was found').waitFor()
  t.same(console.problems, [])
})
