import { Note } from '../kit/note.tsx'
import { apiUrl } from './command.ts'

/** What to know of an address that is given to another machine, where no other machine can reach it. */
export function OnlyHere() {
  if (!/^\w+:\/\/(localhost|127\.|0\.0\.|\[::1?\])/.test(apiUrl(''))) return null
  return (
    <Note is="attention">
      Only programs on this machine reach this address. <code>SLUICE_PUBLIC_URL</code> names the one for
      others.
    </Note>
  )
}
