/** `sluice record`: keeps how the streams of a provider come. */
import { closeSync, openSync, writeSync } from 'node:fs'
import { GrowingTape } from '../tape/growing-tape.js'
import { startRelay } from '../tape/relay.js'
import { MOST_STREAMS } from '../tape/tape.js'
import { failCommand, failUsage, type PrintOutput, parseCommandArgs, runCommand } from './command.js'
import { untilSignal } from './until-signal.js'

const USAGE = `usage: sluice record --from URL --to FILE [--port PORT] [--streams N]

Stands before a provider and hands every call through. Of each stream it writes a line into FILE: when its events came,
how many tokens they had, how it ended; nothing of what was said, and no sizes in bytes. Where a provider has
base_url: https://host/v1, give --from https://host and have base_url point here. Ctrl-C ends it.

  --from URL     where calls go
  --to FILE      the tape, a new file
  --port PORT    where it listens on 127.0.0.1 (8090 when absent; 0 takes a free port)
  --streams N    as many streams are kept (100000 when absent, 200000 at most), and as many as go into 64 MiB; later ones
                 pass unrecorded, which is told
`

/** @returns the exit code: 130 when it was told to end, 1 when it could not be done, 2 when it was no command */
export function recordCommand(args: readonly string[], print: PrintOutput): Promise<number> {
  return runCommand({ args, usage: USAGE, print }, async () => {
    const text = { type: 'string' } as const
    const options = { from: text, to: text, port: text, streams: text }
    const { values } = parseCommandArgs('record', args, options, false)
    const { from, to, port = '8090', streams = '100000' } = values
    if (from === undefined || to === undefined) failUsage('record needs --from and --to')
    const upstream = URL.canParse(from) ? new URL(from) : null
    if (upstream === null || !/^https?:$/.test(upstream.protocol))
      failUsage('--from must be an http or https URL')
    if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) failUsage('--port must be a port from 0 to 65535')
    if (!/^[1-9]\d{0,5}$/.test(streams) || Number(streams) > MOST_STREAMS)
      failUsage(`--streams must be a number from 1 to ${MOST_STREAMS}`)
    const file = openNew(to)
    const tape = new GrowingTape({
      streams: Number(streams),
      write: (line) => writeSync(file, line),
      onFull: (why) => print(2, `sluice: the tape is full, later streams pass unrecorded: ${why}\n`),
    })
    try {
      return await untilSignal(async (left) => {
        const relay = await startRelay({
          ...{ upstream, host: '127.0.0.1', port: Number(port) },
          onStream: (stream) => tape.add(stream),
        }).catch((error: Error) => failCommand(error.message))
        print(1, `recording at ${relay.url} what ${upstream.origin} sends\n`)
        await new Promise<void>((resolve) => left.addEventListener('abort', () => resolve(), { once: true }))
        await relay.close()
        const { kept, passed } = tape
        print(1, `${kept} streams in ${to}${passed === 0 ? '' : `, ${passed} passed unrecorded`}\n`)
        return { text: '' }
      })
    } finally {
      closeSync(file)
    }
  })
}

/** For its owner alone: paces are about people's calls. */
function openNew(path: string): number {
  try {
    return openSync(path, 'wx', 0o600)
  } catch (error) {
    return failCommand(`the tape cannot be written: ${(error as Error).message}`)
  }
}
