/** Elements that had the focus are remembered for the way back from what they opened. */
const MAX_EARLIER = 10

/** What the user can go on with. */
const CONTROLS = 'input, textarea, select, button, summary, a[href]'

/** Parts of a page that mean something to a screen reader. */
const PARTS = 'article, section, form, fieldset, details, li, table, main'

/**
 * Keeps the focus near the place of its element. A form that closes after it was sent, and a button
 * that is disabled while it acts, lose the focus, so that the keyboard would begin at the top of the
 * page again.
 */
export function keepFocus(root: HTMLElement): void {
  /** The element with the focus, and what it is in. Empty when the user has left it. */
  let path: HTMLElement[] = []
  let earlier: HTMLElement[] = []

  const arrive = ({ target }: FocusEvent) => {
    if (!(target instanceof HTMLElement)) return
    path = withAncestors(target)
    earlier = [target, ...earlier.filter((element) => element !== target)].slice(0, MAX_EARLIER)
  }
  const leave = ({ target }: FocusEvent) => {
    queueMicrotask(() => {
      const isLost = target instanceof HTMLElement && !canHaveFocus(target)
      if (!isLost && isNowhere() && path[0] === target) path = []
    })
  }
  const restore = (changes: readonly MutationRecord[]) => {
    const [element] = path
    if (!element || !isNowhere()) return
    if (!element.isConnected) replacementOf(path, earlier, changes)?.focus({ preventScroll: true })
    // A button that still acts gets the focus back when it has acted.
    else if (canHaveFocus(element)) element.focus({ preventScroll: true })
  }

  root.addEventListener('focusin', arrive)
  root.addEventListener('focusout', leave)
  const changes = { childList: true, subtree: true, attributeFilter: ['disabled'] }
  new MutationObserver(restore).observe(root, changes)
}

function isNowhere(): boolean {
  return document.activeElement === null || document.activeElement === document.body
}

function canHaveFocus(element: Element): boolean {
  return element.isConnected && !element.matches(':disabled')
}

function withAncestors(element: HTMLElement): HTMLElement[] {
  const path: HTMLElement[] = []
  for (let one: HTMLElement | null = element; one; one = one.parentElement) path.push(one)
  return path
}

/**
 * Returns what has the focus after an element that is gone: what has come in its part of the page,
 * such as a form for a button; or else what had the focus before in that place; or else the part.
 */
function replacementOf(
  path: readonly HTMLElement[],
  earlier: readonly HTMLElement[],
  changes: readonly MutationRecord[],
): HTMLElement | undefined {
  const place = path.find((element) => element.isConnected)
  const part = place?.closest<HTMLElement>(PARTS)
  if (!place || !part) return undefined
  const added = changes.flatMap(({ addedNodes }) => [...addedNodes]).filter(isElement)
  const isWholePage = part.tagName === 'MAIN'
  for (const near of isWholePage ? [] : [place, part]) {
    const found = added.filter((element) => near.contains(element)).flatMap(controlsOf)
    const [control] = [...found.filter(({ autofocus }) => autofocus), ...found]
    if (control) return control
  }
  const opener = earlier.find((element) => canHaveFocus(element) && part.contains(element))
  if (opener && !isWholePage) return opener
  if (!part.hasAttribute('tabindex')) part.tabIndex = -1
  return part
}

function isElement(node: Node): node is HTMLElement {
  return node instanceof HTMLElement
}

function controlsOf(element: HTMLElement): HTMLElement[] {
  const below = [...element.querySelectorAll<HTMLElement>(CONTROLS)]
  return [...(element.matches(CONTROLS) ? [element] : []), ...below].filter(canHaveFocus)
}
