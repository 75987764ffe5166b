/** A button with a menu: a native popover beneath it, which Escape and a click elsewhere close. */
import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'preact/hooks'

interface MenuProps {
  /** What the button says, for those who see only an icon as well. */
  readonly label: string
  readonly button: ComponentChildren
  readonly class?: string
  readonly children: ComponentChildren
}

const GAP = 6

export function Menu({ label, button, class: name = '', children }: MenuProps) {
  const id = useId()
  const opener = useRef<HTMLButtonElement>(null)
  const place = (event: { currentTarget: HTMLElement }): void => {
    const { style } = event.currentTarget
    const { bottom, right } = opener.current!.getBoundingClientRect()
    style.top = `${bottom + GAP}px`
    style.right = `${Math.max(GAP, document.documentElement.clientWidth - right)}px`
  }
  return (
    <>
      <button ref={opener} type="button" class={name} aria-label={label} popovertarget={id}>
        {button}
      </button>
      <div id={id} class="menu" popover="auto" onBeforeToggle={place}>
        {children}
      </div>
    </>
  )
}
