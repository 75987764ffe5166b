/** The lab's live page and its report look as the console does: in both themes, from narrow to wide. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import tap, { test } from 'tap'
import { writeReport } from '../../bench/loadlab/report/write-report.js'
import { sampleComparison } from '../bench/lab-report-sample.js'
import { ConsoleBrowser, SKIP, THEMES, WIDTHS } from '../console/console-browser.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { liveEvent, startLiveServer } from './live-server.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

const GROUND = 'getComputedStyle(document.body).backgroundColor'
const GROUNDS = { light: 'rgb(246, 246, 244)', dark: 'rgb(16, 18, 20)' } as const

for (const width of WIDTHS) {
  test(`the live page and the report are whole at ${width} pixels, in both themes`, SKIP, async (t) => {
    const server = await startLiveServer(t, () => liveEvent(9000, { judged: true }))
    const folder = tempFolder(t)
    writeReport(sampleComparison(), folder)
    const live = await browser.page(t, server.url, { width })
    await live.page.goto(server.url)
    await live.page.getByText('latency invalid').first().waitFor()
    const report = await browser.page(t, pathToFileURL(folder).href, { width })
    await report.page.goto(pathToFileURL(join(folder, 'report.html')).href)
    for (const theme of THEMES) {
      for (const [shown, place] of [
        [live, 'live'],
        [report, 'report'],
      ] as const) {
        const name = `lab-${place}-${theme}-${width}`
        await shown.page.emulateMedia({ colorScheme: theme })
        t.equal(await shown.page.evaluate(GROUND), GROUNDS[theme], `${name}: the ground of the console`)
        await shown.picture(name)
        await shown.judge(t, name)
      }
    }
  })
}
