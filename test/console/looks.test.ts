import tap, { test } from 'tap'
import { KEYS, MANAGEMENT_KEY, serve } from '../support/servers/server-process.js'
import { ConsoleBrowser, SKIP, THEMES, WIDTHS } from './console-browser.js'

/** Each place with the title that tells that it is there; a new screen is a line. */
const PLACES: readonly (readonly [place: string, title: string])[] = [
  ['keys', 'Keys'],
  ['keys?new=key', 'Keys'],
  ['credits', 'Credits'],
  ['audit', 'Audit'],
  ['settings', 'Settings'],
  ['settings?changed=yes', 'Settings'],
  ['tools', 'Tools and plugins'],
]

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

for (const theme of THEMES) {
  test(`every screen is whole in the ${theme} theme, from narrow to wide`, SKIP, async (t) => {
    const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1' })
    const made = await fetch(`${url}/api/v1/keys`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${MANAGEMENT_KEY}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'nightly', limit: 5, limit_reset: 'monthly' }),
    })
    const { data } = (await made.json()) as { data: { hash: string } }
    const places = [...PLACES, [`keys/${data.hash}`, 'nightly'] as const]
    for (const width of WIDTHS) {
      const page = await browser.page(t, url, { theme, width })
      await page.settle('', 'Sign in')
      await page.judge(t, `sign-in at ${width}`)
      await page.picture(`sign-in-${theme}-${width}`)
      await page.signIn()
      for (const [place, title] of places) {
        const name = `${place.replace(data.hash, 'one').replace(/[^a-z]+/g, '-')}-${theme}-${width}`
        await page.settle(place, title)
        await page.picture(name)
        await page.judge(t, name)
      }
    }
  })
}
