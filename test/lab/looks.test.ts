/** The lab's live page and its report look as the console does: in both themes, from narrow to wide. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import tap, { test } from 'tap'
import { writeReport } from '../../bench/loadlab/report/write-report.js'
import { sampleComparison } from '../bench/lab-report-sample.js'
import { ConsoleBrowser, type ConsolePage, SKIP, THEMES, WIDTHS } from '../console/console-browser.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { liveEvent, startLiveServer } from './live-server.js'

const browser = new ConsoleBrowser()
tap.teardown(() => browser.close())

const JUDGE = `axe.run(document).then(({ violations }) => ({
  found: violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 160))),
  beyond: document.documentElement.scrollWidth - document.documentElement.clientWidth,
}))`
const GROUND = 'getComputedStyle(document.body).backgroundColor'
const GROUNDS = { light: 'rgb(246, 246, 244)', dark: 'rgb(16, 18, 20)' } as const

for (const theme of THEMES) {
  test(`the live page and the report are whole in the ${theme} theme`, SKIP, async (t) => {
    const server = await startLiveServer(t, () => liveEvent(9000, { judged: true }))
    const folder = tempFolder(t)
    writeReport(sampleComparison(), folder)
    const judge = async (shown: ConsolePage, name: string): Promise<void> => {
      t.equal(await shown.page.evaluate(GROUND), GROUNDS[theme], `${name}: the ground of the console`)
      t.same(await shown.page.evaluate(JUDGE), { found: [], beyond: 0 }, name)
      await shown.picture(name)
    }
    for (const width of WIDTHS) {
      const live = await browser.page(t, server.url, { theme, width })
      await live.page.goto(server.url)
      await live.page.getByText('latency invalid').first().waitFor()
      await judge(live, `lab-live-${theme}-${width}`)
      t.same(live.problems, [])
      const report = await browser.page(t, pathToFileURL(folder).href, { theme, width })
      await report.page.goto(pathToFileURL(join(folder, 'report.html')).href)
      await judge(report, `lab-report-${theme}-${width}`)
      t.same(report.problems, [])
    }
  })
}
