/** The project that the bench belongs to, and what a run of the bench puts on the machine. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ChildProcesses } from './server/child-processes.js'

/** This file runs as dist/bench/harness/project.js. */
export const PROJECT_FOLDER = fileURLToPath(new URL('../../../', import.meta.url))

/** The built server's main file. Throws when there is none. */
export function builtServer(): string {
  const program = join(PROJECT_FOLDER, 'dist', 'src', 'main.js')
  if (!existsSync(program)) throw new Error('there is no built server: run npm run build first')
  return program
}

/** What the reports of a run that began at `startedAt` are kept under. */
export const reportName = (startedAt: string): string => startedAt.replace(/\.\d+Z$/, '').replaceAll(':', '-')

/** Makes the folder of a report. */
export function newReportFolder(name: string): string {
  const folder = join(PROJECT_FOLDER, 'bench', 'reports', name)
  mkdirSync(folder, { recursive: true })
  return folder
}

/** A temporary folder and child processes: however this program ends, nothing of them stays. */
export function openWorkplace(name: string) {
  const tempFolder = mkdtempSync(join(tmpdir(), `sluice-${name}-`))
  const children = new ChildProcesses()
  process.once('exit', () => {
    children.killAll()
    rmSync(tempFolder, { recursive: true, force: true })
  })
  return { tempFolder, children }
}
