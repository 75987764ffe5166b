import tap, { test } from 'tap'
import { KEYS, MANAGEMENT_KEY, serve } from '../support/servers/server-process.js'
import { ConsoleBrowser, SKIP, type WIDTHS } from './console-browser.js'

/** Each place with the title that tells that it is there; a new screen is a line. */
const PLACES: readonly (readonly [place: string, title: string])[] = [
  ['overview', 'Overview'],
  ['playground', 'Playground'],
  ['models', 'Models and routing'],
  ['models/sim%2Ffast', 'Simulated'],
  ['files', 'Files'],
  ['keys', 'Keys'],
  ['keys?new=key', 'Keys'],
  ['credits', 'Credits'],
  ['audit', 'Audit'],
  ['workspaces', 'Workspaces'],
  ['workspaces?new=workspace', 'Workspaces'],
  ['members', 'Members'],
  ['members?new=member', 'Members'],
  ['members/rights?q=member', 'What a role may do'],
  ['members/sign-in', 'Sign-in'],
  ['members/sign-in?new=provider', 'Sign-in'],
  ['directory', 'Directory'],
  ['directory?new=connection', 'Directory'],
  ['organizations', 'Organizations'],
  ['organizations?new=organization', 'Organizations'],
  ['generations', 'Generations'],
  ['generations?outcome=failed', 'Generations'],
  ['usage', 'Usage'],
  ['usage?period=24h&show=calls&by=time', 'Usage'],
  ['settings', 'Settings'],
  ['settings?changed=yes', 'Settings'],
  ['settings/provider', 'Connect a provider'],
  ['tools', 'Tools and plugins'],
  ['fleet', 'Fleet'],
  ['lab', 'Lab and drill'],
]

/** Every screen at these widths, loaded once and judged in both themes. A few widths a test file: each takes a minute. */
export function judgeScreens(widths: readonly (typeof WIDTHS)[number][]): void {
  const browser = new ConsoleBrowser()
  tap.teardown(() => browser.close())

  test(`every screen is whole in both themes at ${widths.join(' and ')} pixels`, SKIP, async (t) => {
    const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
    const make = async (path: string, body: object): Promise<string> => {
      const made = await fetch(`${url}/api/v1/${path}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${MANAGEMENT_KEY}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      })
      const { data } = (await made.json()) as { data: { id?: string; hash?: string } }
      return data.hash ?? data.id!
    }
    const records: readonly (readonly [screen: string, id: string, title: string])[] = [
      ['keys', await make('keys', { name: 'nightly', limit: 5, limit_reset: 'monthly' }), 'nightly'],
      ['workspaces', await make('workspaces', { name: 'Research' }), 'Research'],
      ['members', await make('members', { user_name: 'ada@example.com', display_name: 'Ada' }), 'Ada'],
      ['directory', await make('scim-connections', { name: 'Entra ID' }), 'Entra ID'],
      ['organizations', await make('organizations', { name: 'Acme', credits: 10 }), 'Acme'],
    ]
    const places = [
      ...PLACES.map(([place, title]) => [place, title, place] as const),
      ...records.map(([screen, id, title]) => [`${screen}/${id}`, title, `${screen}-one`] as const),
    ]
    for (const width of widths) {
      const page = await browser.page(t, url, { width })
      await page.settle('', 'Sign in')
      await page.judgeThemes(t, `sign-in-${width}`)
      await page.signIn()
      for (const [place, title, picture] of places) {
        await page.settle(place, title)
        await page.judgeThemes(t, `${picture.replace(/[^a-z]+/g, '-')}-${width}`)
      }
    }
  })
}
