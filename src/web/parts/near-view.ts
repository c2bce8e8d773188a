import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

/** Elements appear before the reader has scrolled to them. */
const MARGIN = '1000px'

const waiting = new WeakMap<Element, () => void>()

const observer = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) if (isIntersecting) waiting.get(target)?.()
  },
  { rootMargin: MARGIN },
)

/** Returns whether an element has been near the part of the page that the reader sees. */
export function useNearView(): readonly [place: RefObject<HTMLDivElement | null>, isNear: boolean] {
  const place = useRef<HTMLDivElement>(null)
  const [isNear, setNear] = useState(false)
  useEffect(() => {
    const element = place.current
    if (isNear || !element) return
    waiting.set(element, () => setNear(true))
    observer.observe(element)
    return () => observer.unobserve(element)
  }, [isNear])
  return [place, isNear]
}
