/** The palette: every screen and action by a few letters of its name. */
import type { TargetedKeyboardEvent } from 'preact'
import { useId, useState } from 'preact/hooks'
import { Dialog } from '../kit/dialog.tsx'
import { Icon, type IconName } from '../kit/icon.tsx'
import { navigate, to } from './location.ts'
import { openScreens } from './open-screens.ts'
import { signOut } from './session.ts'
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
    ...screens.flatMap(({ title: group, path, actions = [] }) =>
      actions.map(({ title, query }) => ({
        ...{ title, group, icon: 'plus' as const },
        run: () => navigate(to(path, null, query)),
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

/** Whether the letters come in this order, as in `wid` for workload identity. */
function matches(title: string, typed: string): boolean {
  let at = 0
  for (const letter of title.toLowerCase()) if (letter === typed[at]) at++
  return at === typed.length
}

function findCommands(typed: string): Command[] {
  const letters = typed.toLowerCase().replaceAll(' ', '')
  return commands()
    .filter(({ title }) => matches(title, letters))
    .slice(0, MOST_SHOWN)
}

export function Palette({ close }: { close: () => void }) {
  const id = useId()
  const [typed, setTyped] = useState('')
  const [chosen, setChosen] = useState(0)
  const found = findCommands(typed)
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
    if (event.key === 'Enter') run(findCommands(event.currentTarget.value)[chosen])
    else setChosen((chosen + step + found.length) % Math.max(1, found.length))
  }
  return (
    <Dialog title="Go to" close={close} class="palette">
      <input
        type="text"
        autofocus
        role="combobox"
        aria-label="Screen or action"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={found.length > 0 ? `${id}-${chosen}` : undefined}
        placeholder="Screen or action"
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
            key={command.group + command.title}
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
