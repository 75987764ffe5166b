/** The palette: every screen, action and record by a few letters of its name. */
import type { TargetedKeyboardEvent } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import { call } from '../api/call.ts'
import { Dialog } from '../kit/dialog.tsx'
import { Icon, type IconName } from '../kit/icon.tsx'
import { navigate, to } from './location.ts'
import { openScreens } from './open-screens.ts'
import { may, signOut } from './session.ts'
import { setTheme } from './theme.ts'

interface Command {
  readonly title: string
  readonly group: string
  readonly icon: IconName
  readonly run: () => void
}

const MOST_SHOWN = 12

function commands(): Command[] {
  const screens = openScreens()
  return [
    ...screens.map(({ title, group, icon, path }) => ({ title, group, icon, run: () => navigate(to(path)) })),
    ...screens.flatMap(({ title: group, path, access, actions = [] }) =>
      actions
        .filter(({ needs = access }) => may(needs))
        .map(({ title, id = null, query }) => ({
          ...{ title, group, icon: 'plus' as const },
          run: () => navigate(to(path, id, query)),
        })),
    ),
    ...(['light', 'dark', 'system'] as const).map((theme) => ({
      title: `Theme: ${theme}`,
      group: 'Console',
      icon: 'settings' as const,
      run: () => setTheme(theme),
    })),
    { title: 'Sign out', group: 'Console', icon: 'leave', run: () => void signOut() },
  ]
}

type Listed = Readonly<Record<string, string | null>>

/** Where records are listed, by their screens; and which members name one. */
const RECORDS: readonly (readonly [screen: string, list: string, id: string, ...names: string[]])[] = [
  ['keys', 'keys?include_disabled=true', 'hash', 'name'],
  ['models', 'models?output_modalities=all', 'id', 'id'],
  ['workspaces', 'workspaces', 'id', 'name'],
  ['members', 'members', 'id', 'display_name', 'user_name'],
  ['organizations', 'organizations', 'id', 'name'],
  ['directory', 'scim-connections', 'id', 'name'],
  ['workload-identity', 'federation/policies', 'id', 'subject', 'condition'],
]

/** The records that somebody may see, of each kind those that its list begins with. */
async function findRecords(signal: AbortSignal): Promise<Command[]> {
  const lists = openScreens().map(async ({ path, title: group, icon }) => {
    const [, list, id, ...names] = RECORDS.find(([screen]) => screen === path) ?? []
    if (list === undefined) return []
    const outcome = await call<{ data: readonly Listed[] }>('GET', `api/v1/${list}`, { signal })
    if (!outcome.ok) return []
    return outcome.data.data.map((each) => ({
      title: names.map((name) => each[name]).find(Boolean) ?? each[id!]!,
      ...{ group, icon, run: () => navigate(to(path, each[id!]!)) },
    }))
  })
  return (await Promise.all(lists)).flat()
}

/** Whether the letters come in this order, as in `wid` for workload identity. */
function matches(title: string, typed: string): boolean {
  let at = 0
  for (const letter of title.toLowerCase()) if (letter === typed[at]) at++
  return at === typed.length
}

/** What has the letters side by side comes first. */
function rank({ title }: Command, letters: string): number {
  return title.toLowerCase().replaceAll(' ', '').includes(letters) ? 0 : 1
}

function findCommands(typed: string, records: readonly Command[]): Command[] {
  const letters = typed.toLowerCase().replaceAll(' ', '')
  const generation = typed.trim()
  if (/^gen-\w+$/.test(generation)) {
    const run = (): void => navigate(to('generations', generation))
    return [{ title: generation, group: 'Generations', icon: 'list', run }]
  }
  return [...commands(), ...(letters === '' ? [] : records)]
    .filter(({ title }) => matches(title, letters))
    .sort((a, b) => rank(a, letters) - rank(b, letters))
    .slice(0, MOST_SHOWN)
}

export function Palette({ close }: { close: () => void }) {
  const id = useId()
  const [typed, setTyped] = useState('')
  const [chosen, setChosen] = useState(0)
  const [records, setRecords] = useState<readonly Command[]>([])
  useEffect(() => {
    const leaving = new AbortController()
    void findRecords(leaving.signal).then(setRecords)
    return () => leaving.abort()
  }, [])
  const found = findCommands(typed, records)
  useEffect(() => {
    document.getElementById(`${id}-${chosen}`)?.scrollIntoView({ block: 'nearest' })
  }, [id, chosen])
  const run = (command: Command | undefined): void => {
    if (command === undefined) return
    close()
    command.run()
  }
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step === 0 && event.key !== 'Enter') return
    event.preventDefault()
    // Of what is typed by now: it may not be drawn yet.
    if (event.key === 'Enter') run(findCommands(event.currentTarget.value, records)[chosen])
    else setChosen((chosen + step + found.length) % Math.max(1, found.length))
  }
  return (
    <Dialog title="Go to" close={close} class="palette">
      <input
        type="text"
        autofocus
        role="combobox"
        aria-label="Screen, action or record"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={found.length > 0 ? `${id}-${chosen}` : undefined}
        placeholder="Screen, action or record"
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div id={id} role="listbox" aria-label="Found">
        {found.map((command, at) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys of the whole list
          <div
            key={`${at} ${command.group} ${command.title}`}
            id={`${id}-${at}`}
            role="option"
            tabIndex={-1}
            aria-selected={at === chosen}
            onMouseMove={() => setChosen(at)}
            onClick={() => run(command)}
          >
            <Icon name={command.icon} />
            {command.title}
            <span class="soft">{command.group}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="soft">Nothing is called that.</p>}
    </Dialog>
  )
}
