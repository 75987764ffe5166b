/** ApacheBench: recognised, so that nobody wonders why it is missing. */
import type { Tool } from './tool.js'

export const ab: Tool = {
  name: 'ab',
  probe: {
    programs: ['ab'],
    args: ['-V'],
    version: (text) => /ApacheBench, Version \S+/.exec(text)?.[0] ?? null,
  },
  unusable: 'it speaks HTTP/1.0, which the native server answers with 505',
  variants: [],
}
