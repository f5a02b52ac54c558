// Loaded into a daemon: at SIGUSR2 its wall clock is a day ahead, at the next one it is right again.
const RealDate = Date;
const DAY_MS = 86_400_000;
let ahead = 0;
class ShiftedDate extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + ahead);
    else super(...given);
  }
  static now() {
    return RealDate.now() + ahead;
  }
}
globalThis.Date = ShiftedDate;
process.on('SIGUSR2', () => {
  ahead = DAY_MS - ahead;
});
