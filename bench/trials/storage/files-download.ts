import { atLeast, atMost, exactly, figure, over, type Trial, type TrialContext } from '../trial.js'
import { type Download, download, makeFile } from './downloads.js'
import { MIB, stageFiles, throughputRounds, withMemoryGain } from './files-stage.js'

const BYTES = 1024 * MIB
/** Pairs of a download from us and one from the floor. */
const PAIRS = 3
const SLOW = 8
/** How long the slow ones take. */
const SLOW_SECONDS = 20

async function oneRound(context: TrialContext) {
  const { server, floor, store, stop } = await stageFiles(context, BYTES)
  const file = await makeFile(store, BYTES)
  const wish = { port: server.port, path: `/api/v1/files/${file.id}/content` }
  // Once before anything is counted, and hashed: the pages of the file are in memory afterwards.
  const first = await download({ ...wish, hashed: true })
  // In turns, so that what the machine does meanwhile meets both.
  const quick = await withMemoryGain(server, async () => {
    const speeds: { ours: number; floor: number }[] = []
    for (let pair = 0; pair < PAIRS; pair++) {
      const ours = await download(wish)
      const bare = await download({ port: floor.port, path: '/download' })
      speeds.push({ ours: ours.bytesPerSecond, floor: bare.bytesPerSecond })
    }
    return over(speeds)
  })
  const slowly = () => download({ ...wish, hashed: true, pace: BYTES / SLOW_SECONDS })
  const slow = await withMemoryGain(server, () => Promise.all(Array.from({ length: SLOW }, slowly)))
  await stop()
  const isRight = ({ status, sha256 }: Download): boolean => status === 200 && sha256 === file.sha256
  return {
    /** Bytes per second. */
    ours: quick.value.median('ours'),
    floor: quick.value.median('floor'),
    gainedQuick: quick.gained,
    gainedSlow: slow.gained,
    wrong: [first, ...slow.value].filter((one) => !isRight(one)).length,
  }
}

export const filesDownload: Trial = {
  name: 'files-download',
  summary: '1 GiB to quick and slow readers: equal bytes, flat memory, 0.7 of bare uWS',
  rounds: 3,
  roundLimitS: 300,
  pinned: true,
  run: async (context) => {
    const { sum, median } = over(await throughputRounds(context, () => oneRound(context)))
    const ratio = median(({ ours, floor }) => ours / floor)
    return {
      bars: [
        atLeast('throughput / floor', ratio, 0.7),
        exactly('bodies that differ', sum('wrong'), 0),
        atMost('memory gained by quick readers', median('gainedQuick') / MIB, 16, 'MiB'),
        atMost('memory gained by a slow reader', median('gainedSlow') / MIB / SLOW, 2, 'MiB'),
      ],
      figures: [
        figure('size of the file', BYTES / MIB, 'MiB'),
        figure('ours', median('ours') / MIB, 'MiB/s'),
        figure('floor', median('floor') / MIB, 'MiB/s'),
      ],
    }
  },
}
