import type { ComponentChildren, VNode } from 'preact'
import { useId, useRef } from 'preact/hooks'

interface MenuProps {
  /** The name of a button that shows no text. */
  readonly label?: string
  /** What the button shows. */
  readonly button: ComponentChildren
  readonly className?: string
  /** Whether the content is more than a list of choices, so that a choice closes nothing. */
  readonly isPanel?: boolean
  /** Called before the menu opens. */
  readonly onOpen?: () => void
  readonly children: ComponentChildren
}

/**
 * A button that shows links and buttons, as the disclosure pattern of the ARIA practices says. The
 * browser closes it by Escape and by a click elsewhere.
 */
export function Menu(props: MenuProps): VNode {
  const { label, button, className = 'plain', isPanel = false, onOpen, children } = props
  const id = useId()
  const panel = useRef<HTMLDivElement>(null)
  const opener = useRef<HTMLButtonElement>(null)

  const prepare = ({ newState }: Pick<ToggleEvent, 'newState'>) => {
    if (newState === 'open') onOpen?.()
    const [box, corner] = [panel.current, opener.current?.getBoundingClientRect()]
    if (!box || !corner) return
    const { clientWidth } = document.documentElement
    box.style.top = `${corner.bottom + scrollY + 4}px`
    const isLeft = corner.left < clientWidth / 2
    box.style.left = isLeft ? `${Math.max(corner.left, 8)}px` : 'auto'
    box.style.right = isLeft ? 'auto' : `${Math.max(clientWidth - corner.right, 8)}px`
  }
  // How wide the choices are is known when they are shown.
  const keepInside = ({ newState }: Pick<ToggleEvent, 'newState'>) => {
    const box = panel.current
    if (!box || newState !== 'open') return
    const { clientWidth } = document.documentElement
    if (box.getBoundingClientRect().right <= clientWidth - 8) return
    box.style.left = 'auto'
    box.style.right = '8px'
  }
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step === 0 || isPanel || event.target instanceof HTMLSelectElement) return
    event.preventDefault()
    panel.current?.showPopover()
    const items = [...(panel.current?.querySelectorAll<HTMLElement>('a, button, select') ?? [])]
    const at = items.indexOf(document.activeElement as HTMLElement)
    const next = at < 0 && step < 0 ? -1 : (at + step) % items.length
    items.at(next)?.focus()
  }
  const choose = ({ target }: Event) => {
    if (!isPanel && target instanceof Element && target.closest('a, button'))
      panel.current?.hidePopover()
  }
  return (
    <>
      <button
        ref={opener}
        type="button"
        class={className}
        popovertarget={id}
        onKeyDown={move}
        aria-label={label}
      >
        {button}
      </button>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the links and buttons in it are the controls; their keys and clicks arrive here */}
      <div
        ref={panel}
        id={id}
        popover="auto"
        class={isPanel ? 'menu panel' : 'menu'}
        onBeforeToggle={prepare}
        onToggle={keepInside}
        onKeyDown={move}
        onClick={choose}
      >
        {children}
      </div>
    </>
  )
}
