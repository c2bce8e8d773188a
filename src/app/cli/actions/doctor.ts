import { examine, type Finding, notExamined } from '../../../forge/administration/doctor.ts'
import type { LogLevel } from '../../config.ts'
import { type DataPlace, openDataAsItIs, useData } from '../../data-folder.ts'
import { createLog } from '../../log.ts'
import { closeToOthers, modeText, type OpenPath, openToOthers } from '../../private-files.ts'
import { createApp } from '../../server/app.ts'
import { print } from '../print.ts'
import { OPERATOR_SETTINGS } from './operator.ts'

export interface DoctorFlags extends DataPlace {
  readonly fsck: boolean
  readonly fix: boolean
  readonly logLevel: LogLevel
}

/** Compares the database with the repositories. Sets the exit code 1 when problems are left. */
export async function doctor(flags: DoctorFlags): Promise<void> {
  const db = await openDataAsItIs(flags)
  const lock = flags.fix ? await useData(flags, 'alone') : undefined
  try {
    const app = await createApp({
      db,
      folder: flags.data,
      settings: OPERATOR_SETTINGS,
      log: createLog(flags.logLevel),
    })
    let repaired = 0
    let left = 0
    const count = ({ subject, problem, outcome }: Finding) => {
      print(`${subject}: ${problem} (${outcome})`)
      if (outcome === 'repaired') repaired += 1
      else left += 1
    }
    for (const finding of await examineModes(flags)) count(finding)
    for await (const finding of examine(app, flags)) count(finding)
    // Repaired repositories are measured again in the background.
    await app.background.settled()
    const unchecked = await notExamined(app)
    if (unchecked !== undefined) process.stderr.write(`${unchecked}\n`)
    print(left + repaired === 0 ? 'nothing is wrong' : `${repaired} repaired, ${left} left`)
    if (left > 0) process.exitCode = 1
  } finally {
    await lock?.release()
    await db.destroy()
  }
}

/** Finds, and with --fix corrects, what other users may access of the data folder. */
async function examineModes({ data, fix }: DoctorFlags): Promise<Finding[]> {
  const found = (paths: readonly OpenPath[], outcome: Finding['outcome']) =>
    paths.map(({ path, mode }) => ({
      subject: path,
      problem: `other users may access it (mode ${modeText(mode)})`,
      outcome,
    }))
  if (!fix) return found(await openToOthers(data), '--fix repairs it')
  const { corrected, refused } = await closeToOthers(data)
  return [...found(corrected, 'repaired'), ...found(refused, 'its owner can repair it')]
}
