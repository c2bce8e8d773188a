import { createReadStream, createWriteStream } from 'node:fs'
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from 'commander'
import { dataOption } from '../config.ts'
import { attachmentsOf, openDataAsItIs, repositoriesOf } from '../data-folder.ts'
import { writeBackup } from '../domain/maintenance/backup.ts'
import { restoreBackup } from '../domain/maintenance/restore.ts'
import { systemClock } from '../server/app.ts'
import { VERSION } from '../version.ts'
import { print } from './print.ts'

/** Stands for standard input or output. */
const STANDARD_STREAM = '-'

/** `branchline backup` */
export function backupCommand(): Command {
  return new Command('backup')
    .description(
      'write everything of an instance into one tar archive, whether or not a server is running on it',
    )
    .addOption(dataOption())
    .requiredOption(
      '--output <file>',
      'archive to make, replaced when it exists; - for standard output',
    )
    .action(async ({ data, output }: { data: string; output: string }) => {
      const db = await openDataAsItIs(data)
      await removeLeftovers(data)
      const isPiped = output === STANDARD_STREAM
      // What is there stays there until the new one is whole.
      const draft = `${output}.${process.pid}.part`
      try {
        const target = isPiped
          ? process.stdout
          : createWriteStream(draft, { mode: 0o600, flush: true })
        const source = {
          db,
          git: repositoriesOf(data),
          attachments: attachmentsOf(data),
          clock: systemClock,
        }
        const options = { snapshotFile: join(data, snapshotName(process.pid)), version: VERSION }
        const { repositories, files, attachments } = await writeBackup(source, target, options)
        if (isPiped) return
        await rename(draft, output)
        print(
          `wrote ${output}: ${repositories} repositories, ${files} of their files, ${attachments} attachments`,
        )
      } finally {
        if (!isPiped) await rm(draft, { force: true })
        await db.destroy()
      }
    })
}

/** Where a backup has its copy of the database while it runs. */
const snapshotName = (pid: number) => `backup.${pid}.db`
const SNAPSHOT = /^backup\.(\d+)\.db/

/** Removes the copies of backups that were killed. */
async function removeLeftovers(data: string): Promise<void> {
  for (const name of await readdir(data)) {
    const pid = SNAPSHOT.exec(name)?.[1]
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(data, name), { force: true })
  }
}

/** Whether there is a process, or may be (kill(2)). */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}

/** `branchline restore` */
export function restoreCommand(): Command {
  return new Command('restore')
    .description('make a data folder from an archive that `backup` wrote')
    .addOption(dataOption())
    .requiredOption('--input <file>', 'archive; - for standard input')
    .action(async ({ data, input }: { data: string; input: string }) => {
      const source = input === STANDARD_STREAM ? process.stdin : createReadStream(input)
      const { timeMs, version } = await restoreBackup(source, data)
      print(
        `restored ${data} as it was at ${new Date(timeMs).toISOString()}, by Branchline ${version}`,
      )
    })
}
