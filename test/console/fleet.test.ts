import { fileURLToPath } from 'node:url'
import tap, { test } from 'tap'
import { DRILL_ENVIRONMENT } from '../../src/drill/fleet/fleet-scenario.js'
import { EXACT_MODEL, FleetStage } from '../../src/drill/fleet/stage.js'
import { WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'
import { ConsoleBrowser, SKIP, WIDTHS } from './console-browser.js'

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url))
const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

test('machines are shown with what they hold, and of one that was killed what is frozen and what to do', {
  skip: WITHOUT_POSTGRES,
  ...SKIP,
}, async (t) => {
  const command = [process.execPath, MAIN, 'serve']
  const stage = await FleetStage.open({ command, size: 2, environment: DRILL_ENVIRONMENT, proxied: false })
  t.after(() => stage.close())
  const [first, second] = stage.fleet.machines
  const { key } = await stage.addPayer(1_000)
  for (const { url } of stage.fleet.machines) {
    const answer = await fetch(`${url}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ model: EXACT_MODEL, messages: [{ role: 'user', content: 'x' }] }),
    })
    t.equal(answer.status, 200)
    await answer.text()
  }
  const pages = []
  for (const width of WIDTHS) {
    const page = await browser.page(t, first!.url, { width })
    await page.open('fleet')
    await page.signIn(stage.managementKey)
    await page.page.getByRole('row', { name: /^machine-2 .* live/ }).waitFor()
    t.equal(await page.page.getByText('live', { exact: true }).count(), 2)
    pages.push({ page, width })
  }
  await second!.kill()
  for (const { page, width } of pages) {
    const whatToDo = page.page.getByRole('button', { name: /expired\s*What to do/ })
    await whatToDo.waitFor()
    await page.judgeThemes(t, `fleet-many-${width}`)
    await whatToDo.click()
    await page.page.getByRole('heading', { name: 'machine-2 is not heard any more' }).waitFor()
    await page.page.getByText('npx sluice fleet forget machine-2').waitFor()
    await page.picture(`fleet-gone-${width}`)
    await page.page.keyboard.press('Escape')
    await page.page.getByText('One machine killed').click()
    await page.page.getByText('its leases stay counted').first().waitFor()
    await page.forgiveMoves()
    await page.judgeThemes(t, `fleet-failures-${width}`)
  }
})
