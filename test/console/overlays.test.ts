/** What opens over a screen: by keyboard alone, whole in both themes, gone on Escape, with the focus where it was. */
import type { Locator } from 'playwright-core'
import tap, { type Test, test } from 'tap'
import { FederationServer } from '../support/servers/federation-server.js'
import { MANAGEMENT_KEY } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'
import { ConsoleBrowser, SKIP } from './console-browser.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

const ACCOUNT = 'Account: default'
const CONDITION = 'subject.startsWith("repo:octo/")'

test('what opens over a screen is left by Escape, and the focus is where it was', SKIP, async (t) => {
  const bench = await FederationServer.start(t, { SLUICE_WORKERS: '1' })
  const { policy } = await bench.trusting({ condition: CONDITION, subject: null })
  const console = await browser.page(t, bench.server.baseUrl)
  const { page } = console
  const { keyboard } = page
  const dialog = (name: string) => page.getByRole('dialog', { name, exact: true })
  const isFocused = (name: string) => eventually(async () => (await console.focusedName()) === name)
  /** Presses what is called so, and waits for what that opens. */
  const open = async (name: string, opens: Locator): Promise<void> => {
    await console.reach(name)
    await keyboard.press('Enter')
    await opens.waitFor()
  }
  const search = async (words: string): Promise<void> => {
    await keyboard.press('Control+k')
    await dialog('Go to').waitFor()
    await keyboard.insertText(words)
  }
  /** Looks at what is open, leaves it, and wants the focus back where it was. */
  const lookAndLeave = async (t: Test, name: string, what: Locator, opener: string): Promise<void> => {
    await console.forgiveMoves()
    await console.judgeThemes(t, `over-${name}`)
    await keyboard.press('Escape')
    // The browser hides a dialog before the page knows of it; a menu stays in the page.
    if (name === 'account') await what.waitFor({ state: 'hidden' })
    else await page.locator('dialog').waitFor({ state: 'detached' })
    t.ok(await isFocused(opener), `${name}: ${opener} has the focus again`)
  }

  await t.test('the menu of the account, and the palette', async (t) => {
    await console.open('workload-identity?view=issuers')
    await page.getByLabel('Management key').waitFor()
    await console.type('Management key', MANAGEMENT_KEY)
    await keyboard.press('Enter')
    await page.getByRole('button', { name: 'Delete local' }).waitFor()
    const signOut = page.getByRole('button', { name: 'Sign out' })
    await open(ACCOUNT, signOut)
    await lookAndLeave(t, 'account', signOut, ACCOUNT)
    await search('targ')
    await page.getByRole('option', { name: /^target/ }).waitFor()
    await lookAndLeave(t, 'palette', dialog('Go to'), ACCOUNT)
  })

  await t.test('the question before something is deleted', async (t) => {
    const question = dialog('Trust local no longer?')
    await open('Delete local', question)
    await lookAndLeave(t, 'question', question, 'Delete local')
    await open('Delete local', question)
    await console.reach('Cancel')
    await keyboard.press('Enter')
    await page.locator('dialog').waitFor({ state: 'detached' })
    t.ok(await isFocused('Delete local'), 'a button that closes it gives the focus back as well')
  })

  await t.test('a key that is shown once, in the place of the dialog before', async (t) => {
    await search('create a key')
    await keyboard.press('Enter')
    await dialog('Create a key').waitFor()
    await keyboard.press('Escape')
    t.ok(await isFocused('Keys'), 'what the palette has opened leaves the title of the screen')
    await open('Create a key', dialog('Create a key'))
    await console.type('Name', 'by keyboard')
    await keyboard.press('Enter')
    const shown = dialog('The key by keyboard')
    await shown.waitFor()
    await console.forgiveMoves()
    await console.judgeThemes(t, 'over-key')
    await console.reach('I have copied it')
    await keyboard.press('Enter')
    await shown.waitFor({ state: 'hidden' })
    t.ok(await isFocused('Create a key'), 'Create a key has the focus again')
  })

  await t.test('what two admins have made of one policy', async (t) => {
    await console.settle(`workload-identity/${policy.id}`, 'Any subject')
    await open('Change', dialog('Change the policy'))
    const theirs = { audience: 'theirs', condition: `${CONDITION} && "deploy" in scopes` }
    await bench.made('PATCH', `/federation/policies/${policy.id}`, theirs)
    await console.type('Condition', `${CONDITION} && "release" in scopes`)
    const merge = dialog('Somebody else has changed this policy')
    await open('Save', merge)
    t.match(console.problems.splice(0), [/412/], 'the browser tells of the refusal as well')
    await lookAndLeave(t, 'merge', merge, 'Change')
    await page.getByText('theirs', { exact: true }).waitFor()
  })

  await t.test('a token that was tested, with a step unfolded', async (t) => {
    await console.type('Token', bench.token({ aud: 'theirs', scopes: ['deploy'] }))
    await open('Test', page.getByText('An exchange would give a token.'))
    await open('audience', page.getByText('saw aud', { exact: true }))
    await console.forgiveMoves()
    await console.judgeThemes(t, 'over-tester')
  })

  await t.test('the drawer of a narrow screen', async (t) => {
    await page.setViewportSize({ width: 360, height: 900 })
    const drawer = page.getByRole('navigation', { name: 'Screens' })
    await open('Navigation', drawer)
    await lookAndLeave(t, 'drawer', drawer, 'Navigation')
    await open('Navigation', drawer)
    await open('Keys', page.getByRole('heading', { level: 1, name: 'Keys' }))
    await drawer.waitFor({ state: 'hidden' })
    await console.focused('h1')
  })
  t.same(console.problems, [])
})
