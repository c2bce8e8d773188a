import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Where Debian's packages put the programs of each version. */
const VERSIONS = '/usr/lib/postgresql'

/** The folder of the newest PostgreSQL programs; undefined where none are installed. */
export const postgresPrograms = findPrograms()

function findPrograms() {
  if (!existsSync(VERSIONS)) return undefined
  const [newest] = readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a))
  const folder = join(VERSIONS, newest ?? '', 'bin')
  return existsSync(join(folder, 'initdb')) ? folder : undefined
}
