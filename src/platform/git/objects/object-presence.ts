import { statSync } from 'node:fs'
import { join } from 'node:path'
import { type Repositories, repositoryPath } from '../repositories/repositories.ts'

/** Where an object was stored when it was read. Shows later, without a read, that it is still there. */
export interface Evidence {
  /** Whether the object has a file of its own. */
  readonly isLoose: boolean
  /** The state of the packs. Undefined when it shows nothing. */
  readonly packs: string | undefined
}

/**
 * Age from which a change of a folder is surely visible in its time. The clock of a file system
 * advances every few milliseconds, on some file systems every second or two.
 */
const SETTLED_MS = 2_500

/**
 * The objects of a repository, for one read. Objects never change, but `git gc` and `git prune`
 * remove some: an operator who erases a leaked secret expects that no cache shows the secret.
 */
export class ObjectPresence {
  readonly #objects: string
  #packs: string | undefined
  #isRead = false

  constructor(repositories: Repositories, id: number) {
    this.#objects = join(repositoryPath(repositories, id), 'objects')
  }

  /** Returns evidence of an object. Call the function before and after the object is read. */
  evidenceOf(objectId: string): Evidence {
    return { isLoose: this.#isLoose(objectId), packs: this.#packState() }
  }

  /** Returns whether an object is still stored. False as well when that is unknown. */
  holds(objectId: string, { isLoose, packs }: Evidence): boolean {
    if (isLoose) return this.#isLoose(objectId)
    return packs !== undefined && packs === this.#packState()
  }

  #isLoose(objectId: string): boolean {
    return isThere(join(this.#objects, objectId.slice(0, 2), objectId.slice(2)))
  }

  /** The folder of packs changes with each new and each removed pack. It is read once. */
  #packState(): string | undefined {
    if (this.#isRead) return this.#packs
    this.#isRead = true
    const stats = statSync(join(this.#objects, 'pack'), { throwIfNoEntry: false })
    if (stats === undefined) return undefined
    const { dev, ino, mtimeMs, ctimeMs } = stats
    if (Date.now() - Math.max(mtimeMs, ctimeMs) < SETTLED_MS) return undefined
    this.#packs = `${dev} ${ino} ${mtimeMs} ${ctimeMs}`
    return this.#packs
  }
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}
