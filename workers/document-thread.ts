import { readHtml } from './documents/read-html.js'
import { readPdf } from './documents/read-pdf.js'
import { repairJson } from './documents/repair-json.js'
import { taskRunner } from './task-runner.js'

export default taskRunner({
  'read-html': readHtml,
  'read-pdf': readPdf,
  'repair-json': ({ text }) => ({ ok: true, value: { candidates: repairJson(text) } }),
})
