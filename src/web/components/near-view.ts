import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

/** Elements appear before the reader has scrolled to them. */
const MARGIN = '1000px'

/** Returns whether an element has been near the part of the page that the reader sees. */
export function useNearView(): readonly [place: RefObject<HTMLDivElement | null>, isNear: boolean] {
  const place = useRef<HTMLDivElement>(null)
  const [isNear, setNear] = useState(false)
  useEffect(() => {
    const element = place.current
    if (isNear || !element) return
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setNear(true)
      },
      { rootMargin: MARGIN },
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [isNear])
  return [place, isNear]
}
