// What cannot hold where a client and a server are of different eras, by revision of the suite: check by check, and why.

export const CROSSINGS = { '2025-11-25': [], '2026-07-28': [] };
